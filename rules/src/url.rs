//! Checks URLs as Go's `net/url` does: the scheme must be `https`, and the URL must have a host.
//!
//! OCM checks client configs with Go's `url.Parse`, and the clients that use these configs are Go programs. So a URL is
//! valid if Go finds the scheme `https` and a host name in it (<https://pkg.go.dev/net/url#Parse>). Since Go 1.25, an
//! opening bracket is valid only at the beginning of a host, and brackets must contain an IPv6 address. Since Go 1.26, a
//! host without brackets has at most one colon.

use std::net::Ipv6Addr;

/// Returns true if Go's `url.Parse` accepts the URL, with the scheme `https` (in any case) and a host name.
pub fn is_https_with_host(url: &str) -> bool {
    https_host(url).is_some_and(|host| !host.is_empty())
}

/// Returns the host name, without the port, of a URL with the scheme `https`; `None` if Go refuses the URL, or the URL has
/// another scheme or no authority.
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

/// Returns the host name of `host[:port]`, or `None` if Go refuses it.
fn host_name(host: &str) -> Option<&str> {
    if let Some(bracketed) = host.strip_prefix('[') {
        let (address, port) = bracketed.rsplit_once(']')?;
        let (address, zone) = match address.split_once("%25") {
            Some((address, zone)) => (address, Some(zone)),
            None => (address, None),
        };
        address.parse::<Ipv6Addr>().ok()?;
        return (is_port(port) && zone.is_none_or(is_zone)).then_some(address);
    }
    if host.contains('[') {
        return None;
    }
    let (name, port) = host
        .find(':')
        .map_or((host, ""), |colon| host.split_at(colon));
    (is_port(port) && name.bytes().all(is_host_byte) && host_escapes_are_allowed(name))
        .then_some(name)
}

/// Returns true for an empty string, and for a colon followed by zero or more digits.
fn is_port(port: &str) -> bool {
    port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Checks the zone of an IPv6 address. Go accepts escapes of the percent sign, of a space (in zones of Windows), and of
/// ASCII bytes that are valid without an escape.
fn is_zone(zone: &str) -> bool {
    let allowed = |byte: u8| byte == b'%' || byte == b' ' || (byte < 0x80 && is_host_byte(byte));
    !zone.is_empty()
        && zone.bytes().all(is_host_byte)
        && escapes(zone).all(|escape| escape.is_some_and(allowed))
}

fn is_userinfo(userinfo: &str) -> bool {
    userinfo
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b))
        && escapes_are_complete(userinfo)
}

/// Returns true for bytes that Go accepts in a host without an escape (including all bytes above ASCII), and for the
/// percent sign of an escape.
fn is_host_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b >= 0x80 || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&b)
}

/// In a host, Go accepts only escapes of bytes above ASCII and of the percent sign.
fn host_escapes_are_allowed(host: &str) -> bool {
    escapes(host).all(|escape| escape.is_some_and(|byte| byte >= 0x80 || byte == b'%'))
}

fn escapes_are_complete(text: &str) -> bool {
    escapes(text).all(|escape| escape.is_some())
}

/// Returns the byte of each escape; `None` for a percent sign without two hexadecimal digits.
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
            (false, "https://h:80a", "a port that is not a number"),
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

    /// What Go's own tests of `net/url` (`src/net/url/url_test.go`) say of hosts and ports, with the scheme `https`, and
    /// where Go has become stricter since, what Go 1.26 says.
    #[test]
    fn gos_own_cases_are_read_as_go_reads_them() {
        let good = [
            "https://www.google.com/file%20one%26two",
            "https://www.google.com/#file%20one%26two",
            "https://john%20doe@www.google.com/",
            "https://www.google.com/?",
            "https://www.google.com/?foo=bar?",
            "https://www.google.com/?q=go%20language",
            "https://www.google.com/a%20b?q=c+d",
            "https://www.google.com/?q=go+language#foo%26bar",
            "https://user:password@google.com",
            "https://j@ne:password@google.com/p@th?q=@go",
            "https://jane:p@ssword@google.com",
            "https://%3Fam:pa%3Fsword@google.com",
            "https://192.168.0.1:8080/",
            "https://192.168.0.2:/foo",
            "https://[fe80::1]/",
            "https://[fe80::1]:8080/",
            "https://[fe80::1%25en0]:8080/",
            "https://[fe80::1%25%65%6e%301-._~]:8080/",
            "https://[2020::2020:20:2020:2020%25Windows%20Loves%20Spaces]:2020",
            "https://[2b01:e34:ef40:7730:8e70:5aff:fefe:edac]:/foo",
            "https://[::ffff:192.0.2.1]:8080",
            "https://rest.rsc.io/foo%2fbar/baz%2Fquux?alt=media",
            "https://a,b,c/bar",
            "https://!$&'()*+,;=hello!:1/path",
            "https://host/!$&'()*+,;=:@[hello]",
            "https://example.com/oid/[order_id]",
            "https://hello.世界.com/foo",
            "https://hello.%e4%b8%96%e7%95%8c.com/foo",
            "https://example.com//foo",
            "https://authority<\"hi\">/foo",
            "https://h]",
            "https://h%25",
            "https://h%25:443/",
        ];
        let bad = [
            // No authority.
            "https:www.google.com/?q=go+language",
            "https:%2f%2fwww.google.com/?q=go+language",
            "https:///home/adg/rabbits",
            "https:?xt=urn:btih:c12fe1c06bba",
            "//user@foo/path?a=b",
            "/foo?query=https://bad",
            "*",
            // Escapes of ASCII bytes.
            "https://192.168.0.%31/",
            "https://192.168.0.%31:8080/",
            "https://[fe80::%31]/",
            "https://[fe80::%31%25en0]:8080/",
            "https://not.a.user@%66%6f%6f.com/just/a/path/also",
            // A zone without an escaped percent sign, an empty one, and what a zone cannot hold.
            "https://[fe80::1%en0]/",
            "https://[fe80::1%25]/",
            "https://[fe80::1%25en%2f0]/",
            "https://[fe80::1%25%c3%bc]/",
            "https://[fe80::1%25en%]/",
            // Brackets.
            "https://[::1",
            "https://h[",
            "https://h[::1]",
            "https://h[::1]:8080",
            "https://[[::1]]",
            "https://[::1][::1]",
            "https://[]",
            "https://[192.0.2.1]",
            "https://[192.0.2.1%25eth0]",
            "https://[example.com]",
            "https://[a%20b]",
            // Ports.
            "https://[::1]:namedport",
            "https://[::1]%23",
            "https://x:namedport",
            "https://x:-1",
            "https://:80:",
            "https://2b01:e34:ef40:7730:8e70:5aff:fefe:edac:8080/foo",
            "https://a:b:c",
            // Bytes that stand nowhere.
            " https://foo.com",
            "https://a b.com/",
            "https://\x7f.com/",
            "https://foo.com/\r\n",
            "https://foo\\bar",
            "https://a`b",
            "https://a{b}",
            "https://u{ser@h",
            "https://%zz@h",
            "https://h/%",
            "https://h/%1",
            "https://h#%zz",
        ];
        for (urls, expected) in [(&good[..], true), (&bad[..], false)] {
            for url in urls {
                assert_eq!(is_https_with_host(url), expected, "{url:?}");
            }
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
