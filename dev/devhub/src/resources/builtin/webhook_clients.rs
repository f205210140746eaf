//! What is wrong with the place at which a webhook is to be called: a URL or a Service.

use berth_api::names;
use serde_json::Value;

use super::fields;
use super::kind::text_of;
use crate::status::FieldError;

/// What is wrong with a `clientConfig`.
pub(super) fn errors(at: &str, client: Option<&Value>) -> Vec<FieldError> {
    let part = |name| {
        client
            .and_then(|client| client.get(name))
            .filter(|value| !value.is_null())
    };
    match (part("url"), part("service")) {
        (Some(url), None) => url_errors(&format!("{at}.url"), url.as_str().unwrap_or_default()),
        (None, Some(service)) => service_errors(&format!("{at}.service"), service),
        _ => vec![FieldError::required(
            at,
            "exactly one of url or service is required",
        )],
    }
}

/// `https://host[/path]`, and nothing else. A URL is read as Go's `net/url` reads it.
fn url_errors(at: &str, url: &str) -> Vec<FieldError> {
    const FORM: &str = "; desired format: https://host[/path]";
    if let Some(problem) = unreadable(url) {
        let url = go_quoted(url);
        let detail = format!("url must be a valid URL: parse {url}: {problem}{FORM}");
        return vec![FieldError::required(at, detail)];
    }
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = split_scheme(rest);
    let authority = rest
        .strip_prefix("//")
        .map_or("", |rest| rest.split('/').next().unwrap_or_default());
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let mut errors = Vec::new();
    if !scheme.eq_ignore_ascii_case("https") {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(FieldError::invalid(at, scheme.to_lowercase(), detail));
    }
    if host.is_empty() {
        let detail = format!("host must be specified{FORM}");
        errors.push(FieldError::invalid(at, "", detail));
    }
    if let Some(user) = user {
        let detail = "user information is not permitted in the URL";
        errors.push(FieldError::invalid(at, user, detail));
    }
    if !fragment.is_empty() {
        let detail = "fragments are not permitted in the URL";
        errors.push(FieldError::invalid(at, fragment, detail));
    }
    if !query.is_empty() {
        let detail = "query parameters are not permitted in the URL";
        errors.push(FieldError::invalid(at, query, detail));
    }
    errors
}

/// Why Go would not read it, as far as that is likely to happen.
fn unreadable(url: &str) -> Option<String> {
    if url.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Some("net/url: invalid control character in URL".to_owned());
    }
    if url.starts_with(':') {
        return Some("missing protocol scheme".to_owned());
    }
    if let Some(escape) = broken_escape(url) {
        return Some(format!("invalid URL escape {escape:?}"));
    }
    let (scheme, rest) = split_scheme(url);
    let Some(rest) = rest.strip_prefix("//") else {
        let segment = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let colon = scheme.is_empty() && segment.contains(':');
        return colon.then(|| "first path segment in URL cannot contain colon".to_owned());
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if let Some(character) = host.chars().find(|c| {
        c.is_ascii()
            && matches!(
                c,
                ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}'
            )
    }) {
        return Some(format!(
            "invalid character {:?} in host name",
            character.to_string()
        ));
    }
    let after_address = host.rsplit(']').next().unwrap_or_default();
    let (_, port) = after_address.split_once(':')?;
    (!port.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| format!("invalid port {:?} after host", format!(":{port}")))
}

/// A percent sign that two hexadecimal digits do not follow; of the query nobody asks.
fn broken_escape(url: &str) -> Option<&str> {
    let (before, after) = url.split_once('?').unwrap_or((url, ""));
    let fragment = after.split_once('#').map_or("", |(_, fragment)| fragment);
    [before, fragment].into_iter().find_map(|part| {
        let at = part.match_indices('%').map(|(at, _)| at).find(|at| {
            let digits = part.as_bytes().get(at + 1..at + 3);
            !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        })?;
        let end = (at + 3).min(part.len());
        Some(part.get(at..end).unwrap_or("%"))
    })
}

/// A text as Go's `%q` writes it, as far as control characters go.
fn go_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' | '\n' | '\r' | '\t' => quoted.extend(c.escape_default()),
            c if c.is_ascii_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The scheme, and what comes after its colon.
fn split_scheme(url: &str) -> (&str, &str) {
    match url.split_once(':') {
        Some((scheme, rest))
            if scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) =>
        {
            (scheme, rest)
        }
        _ => ("", url),
    }
}

fn service_errors(at: &str, service: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["name", "namespace"] {
        if text_of(service, field).is_empty() {
            errors.push(FieldError::required(format!("{at}.{field}"), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
    if let Some(reason) = fields::port(port) {
        let detail = format!("port is not valid: {reason}");
        errors.push(FieldError::invalid(format!("{at}.port"), port, detail));
    }
    errors.extend(path_errors(&format!("{at}.path"), text_of(service, "path")));
    errors
}

fn path_errors(at: &str, path: &str) -> Vec<FieldError> {
    let invalid = |detail: String| FieldError::invalid(at, path, detail);
    match path {
        "" | "/" => return Vec::new(),
        "//" => return vec![invalid("segment[0] may not be empty".to_owned())],
        _ => {}
    }
    let mut errors = Vec::new();
    if !path.starts_with('/') {
        errors.push(invalid("must start with a '/'".to_owned()));
    }
    // As Kubernetes does: the first character goes, whatever it is.
    let mut rest = path.chars();
    rest.next();
    let rest = rest.as_str();
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    // Of a character of several bytes only the first one goes; what is left of it is wrong by itself.
    let broken = format!("\u{fffd}{rest}");
    let rest = if path.is_char_boundary(1) {
        rest
    } else {
        &broken
    };
    for (index, step) in rest.split('/').enumerate() {
        if step.is_empty() {
            errors.push(invalid(format!("segment[{index}] may not be empty")));
            continue;
        }
        let reasons = names::dns1123_subdomain(step).into_iter();
        errors.extend(reasons.map(|reason| invalid(format!("segment[{index}]: {reason}"))));
    }
    errors
}
