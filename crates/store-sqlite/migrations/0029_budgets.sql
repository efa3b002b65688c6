-- Budgets of trees and of owners for a day, and what the model calls of agents under way may use at most. An id is
-- that of the root, or the day and the owner with a slash between.
CREATE TABLE budgets (
    id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    spent_cost INTEGER NOT NULL,
    spent_tokens INTEGER NOT NULL,
    presumed_cost INTEGER NOT NULL,
    presumed_tokens INTEGER NOT NULL,
    reserved_cost INTEGER NOT NULL,
    reserved_tokens INTEGER NOT NULL,
    granted_cost INTEGER NOT NULL,
    granted_tokens INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reservations (
    agent TEXT NOT NULL,
    budget TEXT NOT NULL,
    cost INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (agent, budget)
) STRICT, WITHOUT ROWID;
