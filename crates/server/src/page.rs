//! Pages: lists in parts, newest first, each part with a cursor to the next.

use std::{fmt::Display, ops::RangeInclusive, str::FromStr};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use entourage_api::{Page, PageQuery};
use entourage_engine::{ItemQuery, Narrowed, Page as Rows, Result as EngineResult};
use entourage_types::{AgentId, sought_words};

use crate::Problem;

/// The version in each cursor, so that a cursor of an older server is recognized.
const VERSION: &str = "1";
/// The default number of entries on a page.
const USUAL: u32 = 50;
/// The most entries on a page.
const MOST: u32 = 200;
/// The most documents that a search returns.
const MOST_FOUND: u32 = 50;
/// The most buckets of a timeline.
const BUCKETS: u32 = 200;

/// The most bytes on a page, not counting its last entry.
pub(crate) const BYTES: usize = 1 << 20;

/// The paging parameters of a request, checked.
#[derive(Debug)]
pub(crate) struct Paging {
    /// The id of the last entry already seen.
    pub(crate) after: Option<String>,
    /// How many entries the page has.
    limit: u32,
}

impl Paging {
    /// Checks the paging parameters of a request that has no others.
    pub(crate) fn of(query: &PageQuery) -> Result<Self, Problem> {
        Self::new(query.limit, query.cursor.as_deref())
    }

    /// Checks the paging parameters of a request.
    pub(crate) fn new(limit: Option<u32>, cursor: Option<&str>) -> Result<Self, Problem> {
        let after = cursor.map(|cursor| decode(cursor).ok_or_else(bad_cursor)).transpose()?;
        Ok(Self { after, limit: checked_limit(limit)? })
    }

    /// The page to read from the engine: one entry more than is shown tells whether there is a next page.
    fn query(&self) -> Rows {
        let (after, limit) = (self.after.clone(), self.limit + 1);
        Rows { after, limit, newest_first: true, bytes: BYTES, ..Rows::default() }
    }

    /// Reads a page of a list with conditions that no index serves: it may have few entries, or none, and a next
    /// page all the same.
    pub(crate) async fn narrowed<T, V: From<T>, F: Future<Output = EngineResult<Narrowed<T>>>>(
        &self,
        read: impl FnOnce(Rows) -> F,
    ) -> Result<Page<V>, Problem> {
        let Narrowed { rows, next } = read(Rows { limit: self.limit, ..self.query() }).await?;
        Ok(Page {
            data: rows.into_iter().map(V::from).collect(),
            next_cursor: next.map(|next| encode(&next)),
        })
    }

    /// Reads a page of a list that is oldest first, and shows each row.
    pub(crate) async fn oldest_first<T, V, F: Future<Output = EngineResult<Narrowed<T>>>>(
        &self,
        read: impl FnOnce(Rows) -> F,
        view: impl FnMut(T) -> V,
    ) -> Result<Page<V>, Problem> {
        let Narrowed { rows, next } =
            read(Rows { limit: self.limit, newest_first: false, ..self.query() }).await?;
        Ok(page_of(rows.into_iter().map(view), next))
    }

    /// Reads the page. It has fewer entries where they are large.
    pub(crate) async fn read<T, V: From<T>, F: Future<Output = EngineResult<Vec<T>>>>(
        &self,
        read: impl Fn(Rows) -> F,
        id: impl Fn(&T) -> String,
    ) -> Result<Page<V>, Problem> {
        let mut found = read(self.query()).await?;
        let shown = self.limit as usize;
        let more = match found.last() {
            Some(_) if found.len() > shown => true,
            Some(last) => {
                let next = Rows { after: Some(id(last)), limit: 1, ..self.query() };
                !read(next).await?.is_empty()
            }
            None => false,
        };
        found.truncate(shown);
        let next_cursor = found.last().filter(|_| more).map(|last| encode(&id(last)));
        Ok(Page { data: found.into_iter().map(V::from).collect(), next_cursor })
    }

    /// Where the previous page of a transcript ended, and the limit. Pages lead from the transcript's end to
    /// its beginning; `P` is the number of an item, or a type that says more.
    pub(crate) fn items<P: FromStr>(&self) -> Result<(Option<P>, u32), Problem> {
        let before = self.after.as_deref().map(|before| before.parse::<P>().map_err(|_| bad_cursor()));
        Ok((before.transpose()?, self.limit))
    }

    /// The query for such a page of an agent's transcript.
    pub(crate) fn items_of(&self, agent: AgentId) -> Result<ItemQuery, Problem> {
        let (before, limit) = self.items::<u64>()?;
        Ok(ItemQuery {
            before: Some(before.unwrap_or(u64::MAX)),
            bytes: BYTES,
            ..ItemQuery::of(agent, 0, limit)
        })
    }
}

/// Refuses a search for no word.
pub(crate) fn checked_words(text: &str) -> Result<(), Problem> {
    match sought_words(text).next() {
        Some(_) => Ok(()),
        None => Err(Problem::bad_query("text: there is no word to look for; give one").at("text")),
    }
}

/// Returns how many documents a search returns; an error unless it is within 1 to 50.
pub(crate) fn checked_found(limit: Option<u32>) -> Result<u32, Problem> {
    match limit.unwrap_or(MOST_FOUND) {
        limit @ 1..=MOST_FOUND => Ok(limit),
        limit => {
            let why = format!("limit: `{limit}` is not a number from 1 to {MOST_FOUND}");
            Err(Problem::bad_query(why).at("limit"))
        }
    }
}

/// Returns the limit, or the default; an error unless it is within 1 to 200.
pub(crate) fn checked_limit(limit: Option<u32>) -> Result<u32, Problem> {
    checked_number("limit", limit.unwrap_or(USUAL))
}

/// Returns the number, or an error if the parameter of a query with this name cannot have it.
pub(crate) fn checked_number<N: Copy + Into<u64>>(name: &str, number: N) -> Result<N, Problem> {
    let given = number.into();
    if range(name).contains(&given) { Ok(number) } else { Err(bad_number(name, given)) }
}

/// The problem of a parameter that cannot have this value.
pub(crate) fn bad_number(name: &str, value: impl Display) -> Problem {
    let (first, last) = range(name).into_inner();
    Problem::bad_query(format!("{name}: `{value}` is not a number from {first} to {last}")).at(name)
}

/// The numbers that a parameter of a query can have; most are numbers of items or events, which a database can hold.
fn range(name: &str) -> RangeInclusive<u64> {
    match name {
        "limit" => 1..=MOST.into(),
        "buckets" => 1..=BUCKETS.into(),
        _ => 0..=i64::MAX.unsigned_abs(),
    }
}

/// A page of a transcript's entries; `end` is where the next page ends, if there are earlier entries.
pub(crate) fn page_of<T>(entries: impl IntoIterator<Item = T>, end: Option<impl ToString>) -> Page<T> {
    Page { data: entries.into_iter().collect(), next_cursor: end.map(|end| encode(&end.to_string())) }
}

fn encode(id: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{VERSION}:{id}"))
}

fn decode(cursor: &str) -> Option<String> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (version, id) = text.split_once(':')?;
    (version == VERSION && !id.is_empty()).then(|| id.to_owned())
}

fn bad_cursor() -> Problem {
    Problem::bad_cursor("give the `next_cursor` of the previous page unchanged, or none for the first page")
        .at("cursor")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_decodes_to_its_id_and_anything_else_to_none() {
        assert_eq!(decode(&encode("agt_1")).as_deref(), Some("agt_1"));
        for bad in ["", "!", "agt_1", &URL_SAFE_NO_PAD.encode("2:agt_1"), &URL_SAFE_NO_PAD.encode("1:")] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
