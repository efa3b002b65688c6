//! Extractors of what handlers need from a request. Each rejects with a problem document.

mod caller;
mod filter;
mod id;
mod if_match;
mod json;
mod key;
mod no_body;

pub(crate) use caller::Caller;
pub(crate) use filter::{Filter, NoParameters, NoQuery};
pub(crate) use id::{Id, Ids, Names, Number};
pub(crate) use if_match::{IfMatch, IfMatchAny};
pub(crate) use json::{Body, Object};
pub(crate) use key::{IDEMPOTENCY_KEY, IdempotencyKey};
pub(crate) use no_body::NoBody;
