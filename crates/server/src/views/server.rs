//! The state of the server.

use entourage_api::{Gate, Places, Server};
use entourage_engine::{EngineState, GateRecord, dispatch};

pub(crate) fn server(EngineState { places, gates }: EngineState) -> Server {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let places = places.map(|dispatch::Places { busy, limit, ready }| Places { busy, limit, ready });
    Server { version, places, gates: gates.into_iter().map(gate).collect() }
}

fn gate(GateRecord { model, door, opens_in, in_flight, waiting, blocked_owners }: GateRecord) -> Gate {
    let opens_in_ms = opens_in.and_then(|left| u64::try_from(left.as_millis()).ok());
    Gate { model, door: door.to_owned(), opens_in_ms, in_flight, waiting, blocked_owners }
}
