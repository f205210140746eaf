//! Sentences of the rules as expressions: the rules write a sentence about tokens, and expressions take the tokens' places.
//!
//! So each sentence is written once, in [`berth_rules::sentences`].

use berth_api::reserved::Reservation;
use berth_rules::sentences::{self, faults, warnings};

/// The requester. Its place is taken by `variables.user`, which is quoted already.
const USER: &str = "berth-token-user";

/// The arguments of a sentence.
const TOKENS: [&str; 3] = ["berth-token-1", "berth-token-2", "berth-token-3"];

/// Returns the expression of a sentence. Where the sentence has a token in quotes, the argument is quoted; elsewhere it stands
/// as it is, so it must be a text of plain characters.
///
/// # Panics
/// If there is no sentence of this name. Names are constants, and a test renders every snippet.
pub(crate) fn expression(name: &str, arguments: &[&str]) -> String {
    let sentence = text(name);
    let mut parts = Vec::new();
    let mut rest = &*sentence;
    while let Some((start, token, value)) = next(rest, arguments) {
        if start > 0 {
            parts.push(literal(&rest[..start]));
        }
        parts.push(value);
        rest = &rest[start + token..];
    }
    if !rest.is_empty() {
        parts.push(literal(rest));
    }
    parts.join(" + ")
}

/// The first token of a text: where it begins, its length, and the expression in its place.
fn next(text: &str, arguments: &[&str]) -> Option<(usize, usize, String)> {
    let quoted_user = (format!("\"{USER}\""), "variables.user".to_owned());
    let of_arguments = TOKENS.iter().zip(arguments).flat_map(|(token, argument)| {
        [
            (format!("\"{token}\""), quoted(argument)),
            ((*token).to_owned(), (*argument).to_owned()),
        ]
    });
    std::iter::once(quoted_user)
        .chain(of_arguments)
        .filter_map(|(token, value)| Some((text.find(&token)?, token.len(), value)))
        .min_by_key(|(start, ..)| *start)
}

/// The sentence, about the tokens.
fn text(name: &str) -> String {
    let [a, b, c] = TOKENS;
    if let Some(field) = name.strip_prefix("listTooLong.") {
        return faults::list_too_long(field, a);
    }
    match name {
        "clusterName" => faults::cluster_name(a),
        "acceptedTooLarge" => faults::cluster_size(a, true),
        "waitingTooLarge" => faults::cluster_size(a, false),
        "clientConfigUrl" => faults::client_config_url(a),
        "caBundle" => faults::ca_bundle(a, "holds no PEM block"),
        "leaseDuration" => faults::lease_duration(a),
        "duplicateTaint" => faults::duplicate_taint(a, b),
        "timeAdded" => faults::time_added(a),
        "setName" => faults::set_name(a),
        "tooManyRequirements" => faults::too_many_requirements(a),
        "tooManyValues" => faults::too_many_values(a),
        "reservedName" => {
            let reservation = Reservation::Namespace;
            let sentence = sentences::reserved_name(a, reservation).message;
            sentence.replace(&reservation.to_string(), b)
        }
        "reservedNameKept" => {
            let reservation = Reservation::Namespace;
            let sentence = warnings::reserved_name_kept(a, reservation);
            sentence.replace(&reservation.to_string(), b)
        }
        "accept" => sentences::accept(USER, a).message,
        "denyNow" => sentences::deny_now(USER, a).message,
        "join" => sentences::join(USER, a).message,
        "widen" => sentences::widen(USER, a).message,
        "bind" => sentences::bind(USER, a).message,
        "clusterNamespace" => sentences::cluster_namespace(a, b).message,
        "foreignRequest" => sentences::foreign_request(USER, Some(c), a, b).message,
        "strangersRequest" => sentences::foreign_request(USER, None, a, b).message,
        "addonRequest" => sentences::addon_request(USER, a, Some(b)).message,
        "addonRequestForNone" => sentences::addon_request(USER, a, None).message,
        "notInDefaultSet" => warnings::not_in_default_set(a, USER),
        "impossibleSet" => warnings::impossible_set(a),
        _ => panic!("no sentence {name}"),
    }
}

/// A text as a literal of CEL.
pub(crate) fn literal(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('\'', "\\'")
        .replace('\n', "\\n");
    format!("'{escaped}'")
}

/// Text in quotes, cut like `berth_rules::display::Quoted`. CEL cannot escape characters that hide or reorder text, so text
/// with other than letters, marks with a width, numbers, punctuation and symbols is not shown.
pub(crate) fn quoted(text: &str) -> String {
    format!(
        "({text}.matches('[^\\\\p{{L}}\\\\p{{Mc}}\\\\p{{N}}\\\\p{{P}}\\\\p{{S}} ]|[\\u115f\\u1160\\u2800\\u3164\\uffa0]') ? \
         '(' + string(bytes({text}).size()) + ' bytes, not printable)' : \
         {text}.size() > 253 ? strings.quote({text}.substring(0, 253)) + '... (' + string(bytes({text}).size()) + ' bytes)' : \
         strings.quote({text}))"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_take_the_places_of_tokens() {
        let expression = expression("accept", &["variables.name"]);
        let name = quoted("variables.name");
        assert_eq!(
            expression,
            format!(
                "'managedclusters/accept.cluster.open-cluster-management.io ' + {name} + ' is forbidden: user ' + variables.user + \
                 ' cannot update the HubAcceptsClient field: needs verb \"update\" on managedclusters/accept in API group \
                 register.open-cluster-management.io, name ' + {name} + '; check: berth can-i accept ' + variables.name"
            )
        );
    }

    #[test]
    fn literals_are_escaped() {
        assert_eq!(literal(r"it's \ "), r"'it\'s \\ '");
    }
}
