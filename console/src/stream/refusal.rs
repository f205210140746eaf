//! What a screen cannot show.

use crate::answers::{Connection, HubAnswer, Text};

/// Says that the hub refuses a kind to the user, why, and what to do.
///
/// None while the hub is away: the page says that itself, and goes on to show what was known.
pub(super) fn refusal(what: &str, hub: &HubAnswer) -> Option<Text> {
    let is_refused = hub.state == Connection::Refused;
    let why = hub.message.as_ref().filter(|_| is_refused)?;
    let remedy = match &hub.remedy {
        Some(remedy) => format!("; {}", remedy.as_str()),
        None => String::new(),
    };
    Some(format!("{what} cannot be shown: {}{remedy}", why.as_str()).into())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_refusal_names_the_remedy_and_a_hub_that_is_away_is_none() {
        use Connection::{Away, Connected, Loading, Refused};
        let hub = |state, message: Option<&str>, remedy: Option<&str>| HubAnswer {
            state,
            since: Timestamp::UNIX_EPOCH,
            message: message.map(Into::into),
            remedy: remedy.map(Into::into),
            missing: None,
        };
        let (why, ask) = (Some("forbidden"), Some("ask an admin"));
        for (hub, said) in [
            (
                hub(Refused, why, ask),
                Some("Works cannot be shown: forbidden; ask an admin"),
            ),
            (
                hub(Refused, why, None),
                Some("Works cannot be shown: forbidden"),
            ),
            (hub(Refused, None, ask), None),
            (hub(Away, why, ask), None),
            (hub(Loading, None, None), None),
            (hub(Connected, None, None), None),
        ] {
            let note = refusal("Works", &hub);
            assert_eq!(note.as_ref().map(Text::as_str), said, "{hub:?}");
        }
    }
}
