//! The errors that keep a server from starting, or end it. Requests fail with a [`Problem`](crate::Problem).

use std::net::SocketAddr;

/// An error outside of requests.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process listens on the address.
    #[error(
        "{0} is in use by another process. Stop it, or listen elsewhere: `--bind 127.0.0.1:0` takes any free port"
    )]
    InUse(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {cause}. Give an address of this machine and a port above 1023")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        cause: std::io::Error,
    },
    /// Without authentication, anyone who reaches the address could use every agent.
    #[error(
        "without authentication only loopback addresses are served, and {0} is not one. Bind 127.0.0.1, or set \
         `[server.auth.jwt]` with an `algorithm` (HS256, RS256 or EdDSA) and a `key`"
    )]
    Unprotected(SocketAddr),
    /// The key cannot be used.
    #[error("the key for {algorithm} cannot be used: {cause}")]
    Key {
        /// The algorithm it was given for.
        algorithm: &'static str,
        /// The cause, and what to do.
        cause: String,
    },
    /// Without an audience, tokens for other services of the same issuer would be accepted.
    #[error(
        "with {0} tokens come from an issuer that may serve others, too: name who they must be for as `audience` \
         in `[server.auth.jwt]`"
    )]
    NoAudience(&'static str),
    /// The audience is empty, so no token can be meant for this server.
    #[error("`server.auth.jwt.audience` is empty: name who tokens must be for, or, with HS256, leave it out")]
    EmptyAudience,
    /// People may register, and this server cannot sign their tokens.
    #[error(
        "`server.registration` is set, and this server cannot sign the tokens of those who register: {0}. Set \
         `[server.auth.jwt]` with `algorithm = \"HS256\"` and a `key`, or leave `server.registration` out"
    )]
    Registration(&'static str),
    /// A webhook's settings cannot be used.
    #[error("`{place}` cannot be used: {why}")]
    Webhook {
        /// Its key in the settings.
        place: String,
        /// The cause, and what to do. It repeats no secret.
        why: String,
    },
    /// A request of this process cannot be answered.
    #[error("this is no HTTP request: {0}")]
    Request(String),
    /// No token can be made with these settings, or with this owner and lifetime.
    #[error("no token can be made here: {0}")]
    Mint(String),
    /// The listener failed.
    #[error("the server stopped: {0}")]
    Serve(std::io::Error),
}
