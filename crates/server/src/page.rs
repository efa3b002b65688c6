//! Pages: lists in parts, newest first, each part with a cursor to the next.

use std::{borrow::Cow, str::FromStr};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use entourage_engine::{ItemQuery, Page as Rows, Result as Told};
use entourage_types::AgentId;
use serde::{Deserialize, Serialize};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr,
        schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type},
    },
};

use crate::Problem;

/// Written into each cursor, so that those of an older server are known as such.
const VERSION: &str = "1";
/// How many entries a page has unless the request says.
const USUAL: u32 = 50;
/// How many entries a page has at most.
const MOST: u32 = 200;

/// How many bytes a page has at most, its last entry aside.
pub(crate) const BYTES: usize = 1 << 20;

/// What a request says about its page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// How many; 50 unless given.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

impl PageQuery {
    /// The same, checked.
    pub(crate) fn paging(&self) -> Result<Paging, Problem> {
        Paging::new(self.limit, self.cursor.as_deref())
    }
}

/// What a request says about its page, checked.
#[derive(Debug)]
pub(crate) struct Paging {
    /// The id of the last entry already seen.
    pub(crate) after: Option<String>,
    /// How many entries the page has.
    limit: u32,
}

impl Paging {
    /// Checks what a request says about its page.
    pub(crate) fn new(limit: Option<u32>, cursor: Option<&str>) -> Result<Self, Problem> {
        let after = cursor.map(|cursor| decode(cursor).ok_or_else(bad_cursor)).transpose()?;
        Ok(Self { after, limit: checked_limit(limit)? })
    }

    /// What to ask the engine for: one entry more than shown tells whether there are more.
    fn query(&self) -> Rows {
        Rows { after: self.after.clone(), limit: self.limit + 1, newest_first: true, bytes: BYTES }
    }

    /// The page, from what is read with a query. It ends early where its entries are large.
    pub(crate) async fn read<T, V: From<T>, F: Future<Output = Told<Vec<T>>>>(
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

    /// Where the page before ended that tells a transcript from its end: the number of an item, or an end that says
    /// more; and how many items.
    pub(crate) fn items<P: FromStr>(&self) -> Result<(Option<P>, u32), Problem> {
        let before = self.after.as_deref().map(|before| before.parse::<P>().map_err(|_| bad_cursor()));
        Ok((before.transpose()?, self.limit))
    }

    /// The items of an agent's transcript that such a page is about.
    pub(crate) fn items_of(&self, agent: AgentId) -> Result<ItemQuery, Problem> {
        let (before, limit) = self.items::<u64>()?;
        Ok(ItemQuery {
            before: Some(before.unwrap_or(u64::MAX)),
            bytes: BYTES,
            ..ItemQuery::of(agent, 0, limit)
        })
    }
}

/// A number of entries that is neither none nor too many.
pub(crate) fn checked_limit(limit: Option<u32>) -> Result<u32, Problem> {
    match limit.unwrap_or(USUAL) {
        limit @ 1..=MOST => Ok(limit),
        other => Err(Problem::bad_query(format!("limit: {other} is not within 1 to {MOST}"))),
    }
}

/// A part of a list: of rows, newest first; of what a transcript tells, the last of it, oldest first.
#[derive(Debug, Serialize)]
pub(crate) struct Page<T> {
    /// The entries.
    data: Vec<T>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A part of what a transcript tells, and where it ends, with more before that.
    pub(crate) fn of_items(told: impl IntoIterator<Item = T>, end: Option<impl ToString>) -> Self {
        let next_cursor = end.map(|end| encode(&end.to_string()));
        Self { data: told.into_iter().collect(), next_cursor }
    }

    /// The same page of documents of its entries.
    pub(crate) fn map<V>(self, document: impl FnMut(T) -> V) -> Page<V> {
        Page { data: self.data.into_iter().map(document).collect(), next_cursor: self.next_cursor }
    }
}

/// A list that is always whole.
#[derive(Debug, Serialize)]
pub(crate) struct List<T> {
    /// The entries.
    data: Vec<T>,
}

impl<T> List<T> {
    /// All of these.
    pub(crate) fn of<S>(all: impl IntoIterator<Item = S>) -> Self
    where
        T: From<S>,
    {
        Self { data: all.into_iter().map(T::from).collect() }
    }
}

// By hand, because the derived schemas would hold a copy of the entry's instead of its name.
impl<T: ToSchema> PartialSchema for Page<T> {
    fn schema() -> RefOr<Schema> {
        let cursor = ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
            .description(Some("The `cursor` of the next page; null on the last one."));
        entries::<T>().property("next_cursor", cursor).required("next_cursor").build().into()
    }
}

impl<T: ToSchema> ToSchema for Page<T> {
    fn name() -> Cow<'static, str> {
        format!("{}Page", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        with_entry::<T>(schemas);
    }
}

impl<T: ToSchema> PartialSchema for List<T> {
    fn schema() -> RefOr<Schema> {
        entries::<T>().build().into()
    }
}

impl<T: ToSchema> ToSchema for List<T> {
    fn name() -> Cow<'static, str> {
        format!("{}List", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        with_entry::<T>(schemas);
    }
}

fn entries<T: ToSchema>() -> ObjectBuilder {
    let data = ArrayBuilder::new().items(Ref::from_schema_name(T::name()));
    ObjectBuilder::new().property("data", data).required("data")
}

fn with_entry<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
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
    Problem::bad_cursor("give `next_cursor` of the page before, as it is, or none for the first page")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_the_id_and_nothing_else_does() {
        assert_eq!(decode(&encode("agt_1")).as_deref(), Some("agt_1"));
        for bad in ["", "!", "agt_1", &URL_SAFE_NO_PAD.encode("2:agt_1"), &URL_SAFE_NO_PAD.encode("1:")] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
