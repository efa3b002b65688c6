//! Checks the way to Restate, and from there to the processes that work for agents.

use entourage::{
    Settings,
    restate::{Call, Error, Examined},
};

use super::{Finding, broken, good, remark};

/// The versions that are tested begin so.
const TESTED: &str = "1.7.";

/// Whether Restate delivers; nothing if the database does.
pub(super) async fn restate(settings: &Settings) -> Vec<Finding> {
    let chosen = match entourage::chosen_restate_of_database(settings).await {
        Ok(Some(chosen)) => chosen,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![broken("restate", error.to_string())],
    };
    match chosen.examine(settings.dispatch.restate.admin.as_ref()).await {
        Ok(Examined { call, version }) => {
            std::iter::once(of_call(call)).chain(version.map(of_admin)).collect()
        }
        Err(error @ (Error::Refused { .. } | Error::OtherServer { .. })) => {
            vec![broken("restate", format!("`dispatch.restate.ingress`: {error}"))]
        }
        Err(error) => vec![broken(
            "restate",
            format!(
                "{error}. Start it, or set `dispatch.restate.ingress` to the URL of its ingress. Agents wait until then, and \
                 nothing is lost"
            ),
        )],
    }
}

fn of_call(call: Call) -> Finding {
    match call {
        Call::Answered(after) => {
            good("restate", format!("calls processes, which answer within {} ms", after.as_millis().max(1)))
        }
        Call::Unregistered => broken(
            "restate",
            "it does not know where the processes that work for agents are, as after it was started \
             anew: tell it with \
             `entourage migrate --restate-admin URL --restate-uri URI`",
        ),
        Call::OtherDatabase => broken(
            "restate",
            "the processes that it calls share another database: each database needs a Restate of its own. Set \
             `dispatch.restate.ingress` to this one's, and register its processes there",
        ),
        Call::Unanswered { cause } => {
            let met = match cause {
                Some(cause) => format!("Restate has met: {cause}"),
                None => "with `dispatch.restate.admin` the doctor says what Restate has met".to_owned(),
            };
            broken(
                "restate",
                format!(
                    "it is registered, and no process that it calls answers within 5 s: none works for agents, the URI that was \
                     registered does not lead to `dispatch.restate.listen`, or `dispatch.restate.identity_key` is another one's; \
                     {met}"
                ),
            )
        }
    }
}

fn of_admin(version: Result<String, Error>) -> Finding {
    match version {
        Ok(version) if version.starts_with(TESTED) => good("restate", format!("version {version}")),
        Ok(version) => remark("restate", format!("version {version}; {TESTED}x is what was tested")),
        Err(error) => remark("restate", format!("its admin API (`dispatch.restate.admin`): {error}")),
    }
}
