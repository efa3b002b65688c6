//! The errors of this crate.

use std::{io, net::SocketAddr};

/// What can go wrong between a node and Restate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The node cannot listen there.
    #[error("cannot listen on {listen} for Restate's calls: {cause}; choose another address")]
    Address {
        /// The address.
        listen: SocketAddr,
        /// Why not.
        cause: io::Error,
    },
    /// The key is none of Restate's.
    // It may be the private one, so that it is not shown.
    #[error("the identity key is no public key of a Restate; that begins with `publickeyv1_`")]
    Key,
    /// The URL is none of HTTP.
    #[error("`{0}` is no URL of a Restate; it begins with `http://` or `https://`")]
    Url(String),
    /// No client for HTTP can be made.
    #[error("no HTTPS client: {0}; is a package such as `ca-certificates` installed?")]
    Client(#[source] reqwest::Error),
    /// Restate cannot be reached, or the exchange broke.
    #[error("Restate does not answer: {}", chain(.0))]
    Unreachable(reqwest::Error),
    /// Something else answers.
    #[error("what answers is no Restate of a version that is known: {}", chain(.0))]
    Foreign(reqwest::Error),
    /// Another server answers than the one that was asked.
    #[error("what answers is not Restate's {server}, whose port is {port} unless it was set otherwise")]
    OtherServer {
        /// Which one was asked.
        server: &'static str,
        /// Its usual port.
        port: u16,
    },
    /// Restate answered that it does not do this.
    #[error("Restate refuses with {status}: {cause}")]
    Refused {
        /// The status of its answer.
        status: u16,
        /// Its words.
        cause: String,
    },
}

/// An error with what caused it, since the error alone says no more than that sending failed.
fn chain(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
