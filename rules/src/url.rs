//! URLs as Go's `net/url` reads them, as far as the gate must know: is it `https`, and does it name a host?
//!
//! OCM checks client configs with Go's `url.Parse`, and every consumer of a client config is a Go program. So a URL is
//! good when Go finds the scheme `https` and a host name in it. Documented at <https://pkg.go.dev/net/url#Parse>. In
//! brackets there must be an IPv6 address, and a host without brackets has one colon at most, as Go reads it since
//! 1.25 and 1.26.

use std::net::Ipv6Addr;

/// Whether Go's `url.Parse` accepts the URL, with the scheme `https` (in any case) and a host name.
pub fn is_https_with_host(url: &str) -> bool {
    https_host(url).is_some_and(|host| !host.is_empty())
}

/// The host name, without its port, of a URL with scheme `https`; `None` when Go refuses the URL or it has another
/// scheme or no authority.
fn https_host(url: &str) -> Option<&str> {
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    if url.bytes().any(|b| b < b' ' || b == 0x7f) || !escapes_are_complete(fragment) {
        return None;
    }
    let (scheme, rest) = url.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let rest = rest.split_once('?').map_or(rest, |(before, _query)| before);
    let rest = rest.strip_prefix("//")?;
    let (authority, path) = rest
        .find('/')
        .map_or((rest, ""), |slash| rest.split_at(slash));
    if !escapes_are_complete(path) {
        return None;
    }
    let host = match authority.rsplit_once('@') {
        Some((userinfo, host)) if is_userinfo(userinfo) => host,
        Some(_) => return None,
        None => authority,
    };
    host_name(host)
}

/// The host name of `host[:port]`, or `None` when Go refuses it.
fn host_name(host: &str) -> Option<&str> {
    if let Some(bracketed) = host.strip_prefix('[') {
        let (address, port) = bracketed.rsplit_once(']')?;
        let (address, zone) = address.split_once("%25").unwrap_or((address, ""));
        address.parse::<Ipv6Addr>().ok()?;
        return (is_port(port) && zone.bytes().all(is_host_byte) && escapes_are_complete(zone))
            .then_some(address);
    }
    let (name, port) = host
        .find(':')
        .map_or((host, ""), |colon| host.split_at(colon));
    (is_port(port) && name.bytes().all(is_host_byte) && host_escapes_are_allowed(name))
        .then_some(name)
}

/// Nothing, or a colon and digits (or no digits).
fn is_port(port: &str) -> bool {
    port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

fn is_userinfo(userinfo: &str) -> bool {
    userinfo
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b))
        && escapes_are_complete(userinfo)
}

/// What Go lets stand unescaped in a host (any byte beyond ASCII included), and the percent sign that begins an escape.
fn is_host_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b >= 0x80 || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&b)
}

/// In a host Go takes escapes for bytes beyond ASCII only.
fn host_escapes_are_allowed(host: &str) -> bool {
    escapes(host).all(|escape| escape.is_some_and(|byte| byte >= 0x80))
}

fn escapes_are_complete(text: &str) -> bool {
    escapes(text).all(|escape| escape.is_some())
}

/// The byte each percent sign stands for; `None` where two hexadecimal digits do not follow.
fn escapes(text: &str) -> impl Iterator<Item = Option<u8>> {
    text.match_indices('%').map(move |(at, _)| {
        let digits = text.as_bytes().get(at + 1..at + 3)?;
        let digit = |i: usize| char::from(digits[i]).to_digit(16);
        u8::try_from(digit(0)? * 16 + digit(1)?).ok()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_are_read_as_go_reads_them() {
        for (good, url, why) in [
            (true, "https://127.0.0.1:8001", "an address and a port"),
            (
                true,
                "HTTPS://api.example.com",
                "the scheme's case does not matter",
            ),
            (
                true,
                "https://api.example.com:6443/path?q=1#f",
                "path, query and fragment",
            ),
            (true, "https://user:pw@api.example.com", "credentials"),
            (true, "https://[::1]:6443", "an IPv6 address"),
            (true, "https://[fe80::1%25eth0]:6443", "with a zone"),
            (true, "https://api.example.com:", "an empty port"),
            (
                true,
                "https://b%C3%BCcher.example",
                "an escaped byte beyond ASCII",
            ),
            (true, "https://bücher.example", "a byte beyond ASCII"),
            (true, "https://h?a%zz", "escapes of a query are not read"),
            (false, "", "empty"),
            (false, "127.0.0.1:8001", "no scheme"),
            (false, "http://127.0.0.1:8001", "another scheme"),
            (false, "https:x", "opaque, no host"),
            (false, "https:/x", "a path, no host"),
            (false, "https://", "an empty host"),
            (false, "https:///x", "an empty host and a path"),
            (false, "https://:6443", "a port without a host"),
            (false, "https://user@", "credentials without a host"),
            (false, "https://h:80a", "a port that is no number"),
            (false, "https://h:80:81", "two ports"),
            (
                false,
                "https://::1:6443",
                "an IPv6 address without brackets",
            ),
            (false, "https://[::1", "an open bracket"),
            (false, "https://[h]", "a name in brackets"),
            (false, "https://[::1]x", "text behind the bracket"),
            (false, "https://a b", "a space in the host"),
            (false, "https://a\nb", "a control character"),
            (false, "https://a%20b", "an escaped ASCII byte in the host"),
            (false, "https://h/%zz", "a broken escape in the path"),
            (false, "https://h#%", "a broken escape in the fragment"),
            (false, "https://us er@h", "a space in the credentials"),
            (false, " https://h", "a leading space"),
            (false, "://h", "an empty scheme"),
            (false, "ht+tps://h", "another scheme with a sign"),
        ] {
            assert_eq!(is_https_with_host(url), good, "{url:?}: {why}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(url in ".*") {
            is_https_with_host(&url);
        }

        #[test]
        fn no_text_behind_the_scheme_makes_it_panic(rest in "[ -~é%\\[\\]@:/?#]*") {
            is_https_with_host(&format!("https://{rest}"));
        }
    }
}
