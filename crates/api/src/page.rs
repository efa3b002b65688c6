//! Lists: whole, or in pages.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr,
        schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type},
    },
};

use crate::Item;

/// A page of a list. Rows are newest first; a page of a transcript holds its latest entries, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The entries.
    pub data: Vec<T>,
    /// The `cursor` of the next page; null on the last one.
    pub next_cursor: Option<String>,
}

/// A list without pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct List<T> {
    /// The entries.
    pub data: Vec<T>,
}

/// A part of a transcript, oldest first; it has fewer items if they are long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemPage {
    /// The items.
    pub data: Vec<Item>,
    /// The `from` of the next part; a part without items is the end.
    pub next_from: u64,
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        Self { data: all.into_iter().collect() }
    }
}

// Written by hand, because the derived schemas would hold a copy of the entry's schema instead of its name.
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

/// Which items of a transcript to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListItems {
    /// The number of the first item; 0 by default.
    #[serde(default)]
    #[param(required = false, maximum = 9_223_372_036_854_775_807_i64)]
    pub from: u64,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

/// Which page of a list to read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
