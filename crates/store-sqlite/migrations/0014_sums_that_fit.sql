-- What a removed run used is counted as far as an integer goes, as every other sum of usage is: a larger number is
-- none that a column of integers takes, and the run could never be removed.

DROP TRIGGER removed_runs_stay_counted;
CREATE TRIGGER removed_runs_stay_counted BEFORE DELETE ON runs WHEN old.spent <> '[]' BEGIN
    INSERT INTO usage_of_removed
        SELECT owner, day, model, kind, calls, unpriced, min(input, 9223372036854775807),
            min(output, 9223372036854775807),
            min(cached, 9223372036854775807),
            min(cache_written, 9223372036854775807),
            min(reasoning, 9223372036854775807),
            min(cost, 9223372036854775807)
        FROM usage_of_runs WHERE run = old.id
    ON CONFLICT (owner, day, model, kind) DO UPDATE SET calls = calls + excluded.calls,
        unpriced = unpriced + excluded.unpriced, input = min(input + excluded.input, 9223372036854775807),
        output = min(output + excluded.output, 9223372036854775807),
        cached = min(cached + excluded.cached, 9223372036854775807),
        cache_written = min(cache_written + excluded.cache_written, 9223372036854775807),
        reasoning = min(reasoning + excluded.reasoning, 9223372036854775807),
        cost = min(cost + excluded.cost, 9223372036854775807);
END;
