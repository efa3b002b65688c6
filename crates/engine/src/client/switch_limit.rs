//! How many switches the tools of a server may have.

use entourage_types::{Switch, Switches, is_tool_of};

use crate::{Error, Result};

/// As many as a server may have tools. While it is away its tools are unknown, so any name is taken.
const MOST_OF_SERVER: u32 = 256;

/// Refuses a new switch of a tool beyond those that its server may have. One that is there may be changed and reset.
pub(super) fn check_room_for_switch(
    server: &str,
    name: &str,
    switches: &Switches,
    switch: Option<Switch>,
) -> Result<()> {
    if switch.is_none() || name == server || switches.get(name).is_some() {
        return Ok(());
    }
    let of_tools = switches.names().filter(|name| *name != server && is_tool_of(server, name)).count();
    if of_tools < MOST_OF_SERVER as usize {
        return Ok(());
    }
    let what = "switches for tools of one server";
    Err(Error::LimitReached { most: MOST_OF_SERVER, what, remedy: "reset some" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_no_more_switches_than_it_may_have_tools() {
        let (on, mut switches) = (Some(Switch::On), Switches::default());
        switches.set("bank", on);
        for nth in 0..300 {
            switches.set(&format!("mail__{nth}"), on);
        }
        for nth in 0..256 {
            let name = format!("bank__{nth}");
            assert!(check_room_for_switch("bank", &name, &switches, on).is_ok(), "{name}");
            switches.set(&name, on);
        }
        let refused = check_room_for_switch("bank", "bank__one_more", &switches, on);
        assert!(matches!(refused, Err(Error::LimitReached { most: 256, .. })), "{refused:?}");
        for (name, switch) in [("bank", on), ("bank__0", Some(Switch::Off)), ("bank__0", None)] {
            assert!(check_room_for_switch("bank", name, &switches, switch).is_ok(), "{name}");
        }
    }
}
