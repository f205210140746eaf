//! URLs: absolute ones, and absolute paths.

use super::{Function, Returned, global, member, no_overload};
use crate::value::{Key, Value};

/// A URL in its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    pub(crate) text: String,
    scheme: String,
    /// With the port.
    host: String,
    /// As it was written.
    path: String,
    query: String,
}

pub(super) const FUNCTIONS: &[Function] = &[
    global("url", &[1], |args| match &args[0] {
        Value::String(text) => {
            let url = parsed(text).map(|url| Value::Url(url.into()));
            url.ok_or_else(|| "not an absolute URL or path".to_owned())
        }
        _ => no_overload(),
    }),
    global("isURL", &[1], |args| match &args[0] {
        Value::String(text) => Ok(Value::Bool(parsed(text).is_some())),
        _ => no_overload(),
    }),
    member("getScheme", &[1], |args| of(args, |url| url.scheme.clone())),
    member("getHost", &[1], |args| of(args, |url| url.host.clone())),
    member("getHostname", &[1], |args| {
        of(args, |url| url.split_host().0.to_owned())
    }),
    member("getPort", &[1], |args| {
        of(args, |url| url.split_host().1.to_owned())
    }),
    member("getEscapedPath", &[1], |args| {
        of(args, |url| escaped_path(&url.path))
    }),
    member("getQuery", &[1], query),
];

fn of(args: &[Value], read: fn(&Url) -> String) -> Returned {
    match &args[0] {
        Value::Url(url) => Ok(Value::from(read(url).as_str())),
        _ => no_overload(),
    }
}

/// Reads a URL as Go's `url.ParseRequestURI` does: with a scheme, or an absolute path.
pub(super) fn parsed(text: &str) -> Option<Url> {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return None;
    }
    let mut url = Url {
        text: text.to_owned(),
        ..Url::default()
    };
    let mut rest = text;
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
    if let Some(end) = end
        && end > 0
        && text.as_bytes()[end] == b':'
        && text.as_bytes()[0].is_ascii_alphabetic()
    {
        url.scheme = text[..end].to_ascii_lowercase();
        rest = &text[end + 1..];
    }
    let (rest_of_url, _) = rest.split_once('#').unwrap_or((rest, ""));
    // A fragment may follow a path or a query, but not a host.
    let is_host_only = rest_of_url
        .strip_prefix("//")
        .is_some_and(|it| !it.contains(['/', '?']));
    if is_host_only && rest.contains('#') {
        return None;
    }
    let (before, query) = rest_of_url.split_once('?').unwrap_or((rest_of_url, ""));
    url.query = query.to_owned();
    if !before.starts_with('/') {
        // mailto:a@b has neither a host nor a path.
        return (!url.scheme.is_empty()).then_some(url);
    }
    rest = before;
    let has_host = !url.scheme.is_empty() || !rest.starts_with("///");
    if let Some(authority) = rest.strip_prefix("//").filter(|_| has_host) {
        let (host, _) = authority.split_once('/').unwrap_or((authority, ""));
        rest = &authority[host.len()..];
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        if !is_host(host) {
            return None;
        }
        url.host = host.to_owned();
    }
    unescaped(rest)?;
    url.path = rest.to_owned();
    Some(url)
}

fn is_host(host: &str) -> bool {
    let (_, port) = split_port(host);
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let brackets = host.starts_with('[') == host.contains(']');
    is_port && brackets && !host.contains([' ', '<', '>', '"', '\\', '^', '`', '{', '}', '|'])
}

fn split_port(host: &str) -> (&str, &str) {
    let from = host.rfind(']').unwrap_or(0);
    match host[from..].rfind(':') {
        Some(at) => (&host[..from + at], &host[from + at + 1..]),
        None => (host, ""),
    }
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        if *byte == b'%' {
            let code = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The path as it was written, if that is a valid form; otherwise escaped anew.
fn escaped_path(path: &str) -> String {
    let is_valid =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@[]/%".contains(&byte);
    let decoded = unescaped(path).filter(|_| !path.bytes().all(is_valid));
    let Some(decoded) = decoded else {
        return path.to_owned();
    };
    let mut escaped = String::new();
    for byte in decoded.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
            escaped.push(byte.into());
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// The parameters of the query: each name with the list of its values.
fn query(args: &[Value]) -> Returned {
    let Value::Url(url) = &args[0] else {
        return no_overload();
    };
    let mut found: std::collections::BTreeMap<Key, Vec<Value>> = Default::default();
    for pair in url
        .query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
    {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = |text: &str| unescaped(&text.replace('+', " "));
        if let (Some(name), Some(value)) = (decoded(name), decoded(value)) {
            let values = found.entry(Key::from(name.as_str())).or_default();
            values.push(Value::from(value.as_str()));
        }
    }
    let found = found
        .into_iter()
        .map(|(name, values)| (name, Value::list(values)));
    Ok(Value::Map(std::sync::Arc::new(found.collect())))
}

// === impl Url ===

impl Url {
    /// The host without brackets, and the port.
    fn split_host(&self) -> (&str, &str) {
        let (host, port) = split_port(&self.host);
        let inner = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        (inner.unwrap_or(host), port)
    }
}
