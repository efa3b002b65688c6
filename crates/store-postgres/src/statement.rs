//! Statements: a text and the values that it names, sent together with others in one round trip.

use deadpool_postgres::Client;
use entourage_store::{Error, Page};
use entourage_types::Scope;
use futures::future::join_all;
use tokio_postgres::{Row, RowStream, types::ToSql};

use crate::fault::{Fault, Result};

/// A value of a statement.
pub(crate) type Value = Box<dyn ToSql + Sync + Send>;

/// A statement under construction. Distinct texts are few, so that each connection prepares each once; every value is
/// bound, none is spliced in.
pub(crate) struct Statement {
    sql: String,
    /// How many values the text names so far.
    numbered: usize,
    values: Vec<Value>,
    behind: Option<Box<PageStart>>,
}

/// The row after which a page begins.
struct PageStart {
    id: String,
    select: Statement,
}

impl Statement {
    /// Starts a statement. A `?` stands for the next value.
    pub(crate) fn new(head: &str) -> Self {
        let mut statement = Self {
            sql: String::with_capacity(head.len() + 64),
            numbered: 0,
            values: Vec::new(),
            behind: None,
        };
        statement.push(head);
        statement
    }

    /// A statement that is written with `$1`, `$2`, ... itself.
    pub(crate) fn whole(sql: &str) -> Self {
        Self { sql: sql.to_owned(), numbered: 0, values: Vec::new(), behind: None }
    }

    /// Adds text, with the numbers of the values that it names.
    fn push(&mut self, text: &str) {
        let mut parts = text.split('?');
        self.sql.push_str(parts.next().unwrap_or_default());
        for part in parts {
            self.numbered += 1;
            self.sql.push_str(&format!("${}", self.numbered));
            self.sql.push_str(part);
        }
    }

    /// Binds the next value.
    pub(crate) fn bind(mut self, value: impl ToSql + Sync + Send + 'static) -> Self {
        self.values.push(Box::new(value));
        self
    }

    /// Binds the next value, a text.
    pub(crate) fn text(self, text: impl ToString) -> Self {
        self.bind(storable(text.to_string()))
    }

    /// Adds a condition.
    pub(crate) fn and(mut self, condition: &str) -> Self {
        self.push(" AND ");
        self.push(condition);
        self
    }

    /// Adds a condition if there is a text to restrict it by.
    pub(crate) fn only(self, condition: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.and(condition).text(value),
            None => self,
        }
    }

    /// Adds a condition if there is a value to restrict it by.
    pub(crate) fn only_if(self, condition: &str, value: Option<impl ToSql + Sync + Send + 'static>) -> Self {
        match value {
            Some(value) => self.and(condition).bind(value),
            None => self,
        }
    }

    /// Restricts the query to what the scope includes.
    pub(crate) fn seen_by(self, scope: &Scope, owner: &str) -> Self {
        self.only(&format!("{owner} = ?"), scope.owner())
    }

    /// Lets the query find rows only if the scope includes this row of another table.
    pub(crate) fn of(self, scope: &Scope, table: &str, id: uuid::Uuid) -> Self {
        match scope.owner() {
            Some(owner) => {
                self.and(&format!("(SELECT owner FROM {table} WHERE id = ?) = ?")).bind(id).text(owner)
            }
            None => self,
        }
    }

    /// Adds what follows the conditions.
    pub(crate) fn end(mut self, tail: &str) -> Self {
        self.push(" ");
        self.push(tail);
        self
    }

    /// Adds another query in parentheses.
    fn nested(mut self, before: &str, inner: &Fragment) -> Self {
        self.push(" AND ");
        self.push(before);
        self.push(&inner.sql);
        self.push(")");
        for value in &inner.values {
            self = value.bound_to(self);
        }
        self
    }

    /// Restricts the query to a page of `table`, in the order in which its rows were inserted. A `kind`
    /// distinguishes ids that are not unique by themselves.
    pub(crate) fn page(self, table: &str, kind: Option<&str>, scope: &Scope, page: &Page) -> Self {
        self.page_by("n", table, kind, scope, page)
    }

    /// Like [`page`](Self::page), for a query that nothing restricts.
    pub(crate) fn page_of_all(self, table: &str, scope: &Scope, page: &Page) -> Self {
        self.page_by("n + 0", table, None, scope, page)
    }

    fn page_by(self, key: &str, table: &str, kind: Option<&str>, scope: &Scope, page: &Page) -> Self {
        let (than, order) = if page.newest_first { ("<", "DESC") } else { (">", "ASC") };
        let (n, mut select) = (format!("{table}.{key}"), self);
        let row = |id: &str| Fragment::row(key, table, id, kind, scope);
        if let Some(id) = &page.after {
            let row = row(id);
            select = select.nested(&format!("{n} {than} ("), &row);
            select.behind = Some(Box::new(PageStart { id: id.clone(), select: row.statement() }));
        }
        if let Some(id) = &page.until {
            let up_to = if page.newest_first { ">=" } else { "<=" };
            select = select.nested(&format!("{n} {up_to} ("), &row(id));
        }
        select.end(&format!("ORDER BY {n} {order} LIMIT ?")).bind(i64::from(page.limit)).skip(page.skip)
    }

    /// Begins a page after a row of `entities` in another order than that of their insertion: by this column and, where
    /// that is equal, by age.
    pub(crate) fn page_in_order(self, key: &str, kind: &str, scope: &Scope, page: &Page) -> Self {
        let mut select = self;
        if let Some(id) = &page.after {
            let row = Fragment::row(&format!("{key}, n"), "entities", id, Some(kind), scope);
            select = select.nested(&format!("({key}, n) > ("), &row);
            select.behind = Some(Box::new(PageStart { id: id.clone(), select: row.statement() }));
        }
        select.end(&format!("ORDER BY {key}, n LIMIT ?")).bind(i64::from(page.limit)).skip(page.skip)
    }

    /// Leaves out the first rows.
    fn skip(self, rows: u32) -> Self {
        if rows == 0 { self } else { self.end("OFFSET ?").bind(i64::from(rows)) }
    }

    /// Ends the result with the row at which its rows reach this many bytes, by the size that the query returns as the
    /// column `size`. The database sends no row beyond.
    pub(crate) fn within(mut self, bytes: usize) -> Self {
        if bytes == usize::MAX {
            return self;
        }
        self.sql = format!(
            "SELECT * FROM (SELECT *, (sum(size) OVER (ROWS UNBOUNDED PRECEDING))::bigint - size AS before \
             FROM ({}) AS page) AS sized WHERE before < ",
            self.sql
        );
        self.push("? OR before = 0");
        self.bind(i64::try_from(bytes).unwrap_or(i64::MAX))
    }

    /// Runs the query. Refuses a page after a row that does not exist.
    pub(crate) async fn rows(mut self, client: &Client) -> Result<Vec<Row>> {
        let behind = self.behind.take();
        let rows = self.run(client).await?;
        // The page may be empty because the row after which it begins does not exist.
        if rows.is_empty()
            && let Some(PageStart { id, select }) = behind.map(|behind| *behind)
            && select.run(client).await?.is_empty()
        {
            return Err(Error::NoRow { after: id }.into());
        }
        Ok(rows)
    }

    /// Runs the statement.
    pub(crate) async fn run(&self, client: &Client) -> Result<Vec<Row>> {
        let prepared = client.prepare_cached(&self.sql).await?;
        Ok(client.query(&prepared, &self.references()).await?)
    }

    /// Runs the query, whose rows come as fast as they are taken.
    pub(crate) async fn stream(&self, client: &Client) -> Result<RowStream> {
        let prepared = client.prepare_cached(&self.sql).await?;
        Ok(client.query_raw(&prepared, self.references()).await?)
    }

    fn references(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
    }
}

/// Rows to be written, a few by each statement. A statement with all of them as arrays would take twice as long for the
/// one or two rows that a commit has.
pub(crate) struct Rows {
    head: &'static str,
    columns: &'static [&'static str],
    tail: &'static str,
    rows: Vec<Vec<Value>>,
}

/// How many rows a statement writes at most: one text is prepared for each number.
const ROWS_AT_ONCE: usize = 8;

impl Rows {
    /// Rows whose columns are written so, with a `?` for the value, between what begins and what ends the statement.
    pub(crate) const fn new(
        head: &'static str,
        columns: &'static [&'static str],
        tail: &'static str,
    ) -> Self {
        Self { head, columns, tail, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: Vec<Value>) {
        self.rows.push(row);
    }

    /// The statements that write these rows, in their order.
    pub(crate) fn statements(self) -> Vec<Statement> {
        let row = format!("({})", self.columns.join(", "));
        let (mut statements, mut rows) = (Vec::new(), self.rows.into_iter().peekable());
        while rows.peek().is_some() {
            let some: Vec<Vec<Value>> = rows.by_ref().take(ROWS_AT_ONCE).collect();
            let mut statement =
                Statement::new(&format!("{} {}", self.head, vec![row.as_str(); some.len()].join(", ")));
            statement.push(self.tail);
            statement.values = some.into_iter().flatten().collect();
            statements.push(statement);
        }
        statements
    }
}

/// The values of a row.
macro_rules! values {
    ($($value:expr),+ $(,)?) => {
        vec![$(Box::new($value) as $crate::statement::Value),+]
    };
}
pub(crate) use values;

/// Sends statements in one round trip and returns the rows of each. If one fails, those behind it fail in the same
/// transaction, too: the error is that of the first.
pub(crate) async fn pipeline(client: &Client, statements: &[Statement]) -> Result<Vec<Vec<Row>>> {
    all(client, statements.iter().collect()).await
}

/// The same with one more statement at the end.
pub(crate) async fn pipeline_with(
    client: &Client,
    statements: &[Statement],
    last: &Statement,
) -> Result<Vec<Vec<Row>>> {
    all(client, statements.iter().chain([last]).collect()).await
}

async fn all(client: &Client, statements: Vec<&Statement>) -> Result<Vec<Vec<Row>>> {
    let mut prepared = Vec::with_capacity(statements.len());
    for statement in &statements {
        prepared.push(client.prepare_cached(&statement.sql).await?);
    }
    let values: Vec<_> = statements.iter().map(|statement| statement.references()).collect();
    // Polled in this order for the first time, and a statement is sent when it is.
    let sent = prepared.iter().zip(&values).map(|(prepared, values)| client.query(prepared, values));
    let answers = join_all(sent).await;
    answers.into_iter().map(|answer| answer.map_err(Fault::from)).collect()
}

/// Runs queries in one snapshot of the database, in one round trip.
pub(crate) async fn snapshot(client: &Client, queries: Vec<Statement>) -> Result<Vec<Vec<Row>>> {
    let mut all = vec![Statement::whole("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")];
    all.extend(queries);
    all.push(Statement::whole("COMMIT"));
    let mut found = pipeline(client, &all).await?;
    found.pop();
    found.remove(0);
    Ok(found)
}

/// A text without NUL, which the database cannot hold, so that no row has it either.
pub(crate) fn storable(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

/// A query for one row, used twice.
struct Fragment {
    sql: String,
    values: Vec<FragmentValue>,
}

enum FragmentValue {
    Text(String),
    Id(uuid::Uuid),
}

impl FragmentValue {
    fn bound_to(&self, statement: Statement) -> Statement {
        match self {
            Self::Text(text) => statement.text(text),
            Self::Id(id) => statement.bind(*id),
        }
    }
}

impl Fragment {
    /// The query for these columns of the row with this id, if the scope includes it. Ids of agents and runs are stored
    /// without their prefix: a text that is no such id finds no row.
    fn row(columns: &str, table: &str, id: &str, kind: Option<&str>, scope: &Scope) -> Self {
        let mut values = vec![match (table, kind) {
            ("agents", _) => {
                FragmentValue::Id(id.parse().map_or(uuid::Uuid::nil(), entourage_types::AgentId::uuid))
            }
            ("runs", _) => {
                FragmentValue::Id(id.parse().map_or(uuid::Uuid::nil(), entourage_types::RunId::uuid))
            }
            _ => FragmentValue::Text(id.to_owned()),
        }];
        let mut sql = format!("SELECT {columns} FROM {table} WHERE id = ?");
        let texts = [("kind", kind.map(str::to_owned)), ("owner", scope.owner().map(ToString::to_string))];
        for (column, text) in texts {
            if let Some(text) = text {
                sql.push_str(&format!(" AND {column} = ?"));
                values.push(FragmentValue::Text(text));
            }
        }
        Self { sql, values }
    }

    fn statement(&self) -> Statement {
        self.values.iter().fold(Statement::new(&self.sql), |statement, value| value.bound_to(statement))
    }
}
