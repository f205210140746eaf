//! The actions that a screen offers: those that the object's state has, each with what the user lacks for it.

use berth_rules::display::{LastArgument, ShellWord};

use crate::answers::{Act, Missing, Offer};

/// The words of `--read-only`.
pub(crate) const READ_ONLY: &str = "this console was started with --read-only";

/// The object of an action.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    Cluster(&'a str),
    /// By namespace and name.
    ReplicaSet(&'a str, &'a str),
}

/// What the user lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lacks {
    /// For accept and deny.
    pub(crate) accept: Option<Missing>,
    /// For every change of the object.
    pub(crate) change: Option<Missing>,
    pub(crate) read_only: bool,
}

// === impl Act ===

impl Act {
    /// The same as a command.
    pub(crate) fn command(self, target: Target<'_>) -> String {
        let word = match self {
            Self::Accept => "accept",
            Self::Deny => "deny",
            Self::DenyNow => "deny --now",
            Self::Cordon => "cordon",
            Self::Uncordon => "uncordon",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Approve => "approve",
        };
        match target {
            Target::Cluster(name) => format!("berth {word} {}", LastArgument(name)),
            Target::ReplicaSet(namespace, name) => format!(
                "berth {word} replicaset -n {} {}",
                ShellWord(namespace),
                LastArgument(name)
            ),
        }
    }
}

// === impl Lacks ===

impl Lacks {
    /// Returns what the user lacks for an action.
    pub(crate) fn of(&self, act: Act) -> Option<&Missing> {
        match act {
            Act::Accept | Act::Deny | Act::DenyNow => self.accept.as_ref().or(self.change.as_ref()),
            Act::Cordon | Act::Uncordon | Act::Pause | Act::Resume | Act::Approve => {
                self.change.as_ref()
            }
        }
    }

    /// Returns the offer of an action on this object.
    pub(crate) fn offer(&self, act: Act, target: Target<'_>) -> Offer {
        let missing = self.of(act);
        let why = match missing {
            _ if self.read_only => Some(READ_ONLY.into()),
            Some(missing) => Some(format!("you lack {}", missing.permission.as_str()).into()),
            None => None,
        };
        Offer {
            act,
            allowed: why.is_none(),
            why,
            missing: missing.cloned(),
            command: act.command(target).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::Text;

    #[test]
    fn an_action_is_offered_with_what_is_missing_for_it() {
        let missing = |what: &str| Missing {
            permission: what.into(),
            role: None,
            command: "".into(),
        };
        let lacks = |accept: bool, change: bool, read_only| Lacks {
            accept: accept.then(|| missing("accept")),
            change: change.then(|| missing("change")),
            read_only,
        };
        for (lacks, act, why) in [
            (lacks(false, false, false), Act::Accept, None),
            (
                lacks(true, false, false),
                Act::Accept,
                Some("you lack accept"),
            ),
            (lacks(true, false, false), Act::Cordon, None),
            (
                lacks(false, true, false),
                Act::Deny,
                Some("you lack change"),
            ),
            (lacks(true, true, false), Act::Deny, Some("you lack accept")),
            (
                lacks(false, true, false),
                Act::Uncordon,
                Some("you lack change"),
            ),
            (lacks(true, true, true), Act::Accept, Some(READ_ONLY)),
        ] {
            let offer = lacks.offer(act, Target::Cluster("c1"));
            assert_eq!(offer.why.as_ref().map(Text::as_str), why, "{act:?}");
            assert_eq!(offer.allowed, why.is_none());
        }
        let offer = Lacks::default().offer(Act::Deny, Target::Cluster("-x; y"));
        assert_eq!(offer.command.as_str(), "berth deny -- '-x; y'");
        let offer = Lacks::default().offer(Act::Pause, Target::ReplicaSet("team-a", "web"));
        assert_eq!(
            offer.command.as_str(),
            "berth pause replicaset -n team-a web"
        );
    }
}
