//! The commands in a remedy, which is a sentence for a person.

/// A part of a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemedyPart {
    /// Words.
    Words(String),
    /// A command that can be pasted into a shell.
    Command(String),
}

/// The programs whose commands remedies name.
const PROGRAMS: [&str; 2] = ["kubectl ", "berth "];

/// What stands before a command that is not at the beginning.
const BEFORE: [&str; 6] = [": ", "; ", "; or ", ", or ", ", then ", "; then: "];

/// What ends a command.
const AFTER: [&str; 6] = ["; ", ", or", ", then ", ", and ", " (", ", here"];

/// Splits a remedy into its words and its commands. All parts together are the remedy.
pub(crate) fn parts(remedy: &str) -> Vec<RemedyPart> {
    let mut parts = Vec::new();
    let mut rest = remedy;
    while let Some((start, end)) = first_command(rest, rest.len() == remedy.len()) {
        if start > 0 {
            parts.push(RemedyPart::Words(rest[..start].to_owned()));
        }
        parts.push(RemedyPart::Command(rest[start..end].to_owned()));
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        parts.push(RemedyPart::Words(rest.to_owned()));
    }
    parts
}

/// The first command of a text. `is_whole`: one at the very beginning counts.
fn first_command(text: &str, is_whole: bool) -> Option<(usize, usize)> {
    let starts = text.match_indices(PROGRAMS[0]);
    let starts = starts.chain(text.match_indices(PROGRAMS[1]));
    let mut starts: Vec<usize> = starts.map(|(at, _)| at).collect();
    starts.sort_unstable();
    let counts = |at: &usize| match *at {
        0 => is_whole,
        at => BEFORE.iter().any(|it| text[..at].ends_with(it)),
    };
    let mut starts = starts.into_iter().filter(counts);
    starts.find_map(|start| Some((start, start + length(&text[start..])?)))
}

/// The length of the command at the beginning of a text. What is between quotes does not end it. `None`: it is a name in a sentence, since a
/// colon follows.
fn length(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, _) if AFTER.iter().any(|it| text[at..].starts_with(it)) => return Some(at),
            (None, ':') if text[at..].starts_with(": ") => return None,
            _ => {}
        }
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands, each in brackets.
    fn marked(remedy: &str) -> String {
        let each = parts(remedy).into_iter().map(|it| match it {
            RemedyPart::Words(words) => words,
            RemedyPart::Command(command) => format!("[{command}]"),
        });
        each.collect()
    }

    #[test]
    fn commands_are_told_from_words() {
        for expected in [
            "[kubectl apply -k manifests/server]",
            "[berth accept c1], or [berth deny c1]",
            "[berth accept c1] (approves only valid CSRs of this cluster); for details: [kubectl describe csr r1]",
            "write the CA of the certificate into it: [kubectl patch x y --type=json -p='[{\"op\":\"replace\", \"value\":\"a; b\"}]']",
            "[kubectl -n n get pods]; run berth hub, or berth controller: [kubectl apply -k manifests/server]",
            "[kubectl apply -k manifests/server], or, where OCM's operator runs, set the image: manifests/README.md, \"On a hub\"",
            "see the other findings; [kubectl -n n logs deployment/d]",
            "see policies; a new policy counts after a second: run berth doctor again",
            "register the webhooks again (kubectl apply -k manifests), then apply the policies of the API server's version: [berth \
             policies --kubernetes=1.35 | kubectl apply -f -]",
            "[kubectl -n n delete secret s], then [kubectl rollout restart deployment/d]",
            "check that the controller runs (checks controller and controller-rights)",
            "set the clock that is wrong: timedatectl status, here and on the hub's machines",
            "[berth create clusterset s]; or [kubectl delete x]",
            "",
        ] {
            let remedy = unmarked(expected);
            assert_eq!(marked(&remedy), expected, "{remedy}");
        }
    }

    /// Without the brackets around commands. JSON in a command has brackets of its own, within quotes.
    fn unmarked(text: &str) -> String {
        let mut quoted = false;
        let mut is_bare = |c: &char| {
            quoted ^= *c == '\'' && text.contains("-p='");
            quoted || !matches!(c, '[' | ']')
        };
        text.chars().filter(|c| is_bare(c)).collect()
    }

    #[test]
    fn all_parts_together_are_the_remedy() {
        for remedy in [
            "kubectl kubectl ; berth ",
            ": berth ",
            "berth 'x; y",
            "é: kubectl é; é",
        ] {
            let joined: String = (parts(remedy).into_iter())
                .map(|it| match it {
                    RemedyPart::Words(text) | RemedyPart::Command(text) => text,
                })
                .collect();
            assert_eq!(joined, remedy);
        }
    }
}
