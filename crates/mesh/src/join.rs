//! What a node must be to join the others.

use std::net::SocketAddr;

use entourage_store::{LiveNode, NodeListener};
use entourage_types::{DispatchBy, Time};
use tokio::net::TcpListener;

use crate::{CLOCKS, Error, Result, members::Known};

/// Whether a node with this dispatcher and this time can join the known ones.
///
/// # Errors
/// [`Error::Clock`] and [`Error::Dispatch`].
pub(crate) fn fits(known: &Known, dispatch: DispatchBy, now: Time) -> Result<()> {
    match known.is_off(now) {
        Some(ahead) => Err(Error::Clock { ahead, most: CLOCKS }),
        None => same_dispatch(known, dispatch),
    }
}

/// Whether all known nodes have this `dispatch.by`.
///
/// # Errors
/// [`Error::Dispatch`] with the first that has another.
pub(crate) fn same_dispatch(known: &Known, dispatch: DispatchBy) -> Result<()> {
    let differs = |other: &&LiveNode| other.info.dispatch.is_some_and(|by| by != dispatch);
    match known.others.iter().find(differs) {
        Some(other) => Err(Error::Dispatch { ours: dispatch, other: Box::new(other.clone()) }),
        None => Ok(()),
    }
}

/// Listens where the other nodes reach this one.
pub(crate) async fn listen_on(
    listen: SocketAddr,
    address: Option<String>,
) -> Result<(TcpListener, NodeListener)> {
    let failed = |cause| Error::Listen { address: listen, cause };
    let socket = TcpListener::bind(listen).await.map_err(failed)?;
    let bound = socket.local_addr().map_err(failed)?;
    let address = match address {
        Some(address) => address,
        None if bound.ip().is_unspecified() => return Err(Error::Unreachable { address: bound }),
        None => bound.to_string(),
    };
    let mut token = [0; 32];
    getrandom::fill(&mut token).map_err(|error| Error::Random(error.to_string()))?;
    let token = token.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((socket, NodeListener { address, token }))
}
