//! IP addresses and networks.

use std::net::IpAddr;

use super::{Function, Returned, global, member, no_overload};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    global("ip", &[1], |args| {
        text(args, |it| {
            address(it)
                .map(Value::Ip)
                .ok_or_else(|| "not an IP address".to_owned())
        })
    }),
    global("isIP", &[1], |args| {
        text(args, |it| Ok(Value::Bool(address(it).is_some())))
    }),
    global("ip.isCanonical", &[1], |args| {
        text(args, |it| {
            let address = address(it).ok_or("not an IP address")?;
            Ok(Value::Bool(address.to_string() == it))
        })
    }),
    member("family", &[1], |args| {
        of(args, |it| Value::Int(if it.is_ipv4() { 4 } else { 6 }))
    }),
    member("isUnspecified", &[1], |args| {
        of(args, |it| Value::Bool(it.is_unspecified()))
    }),
    member("isLoopback", &[1], |args| {
        of(args, |it| Value::Bool(it.is_loopback()))
    }),
    member("isLinkLocalMulticast", &[1], |args| {
        of(args, |it| Value::Bool(is_link_local_multicast(it)))
    }),
    member("isLinkLocalUnicast", &[1], |args| {
        of(args, |it| Value::Bool(is_link_local_unicast(it)))
    }),
    member("isGlobalUnicast", &[1], |args| {
        of(args, |it| Value::Bool(is_global_unicast(it)))
    }),
    global("cidr", &[1], |args| {
        text(args, |it| {
            network(it).ok_or_else(|| "not a network such as 10.0.0.0/8".to_owned())
        })
    }),
    global("isCIDR", &[1], |args| {
        text(args, |it| Ok(Value::Bool(network(it).is_some())))
    }),
    member("containsIP", &[2], contains_ip),
    member("containsCIDR", &[2], contains_cidr),
    member("ip", &[1], |args| match &args[0] {
        Value::Cidr(address, _) => Ok(Value::Ip(*address)),
        _ => no_overload(),
    }),
    member("masked", &[1], |args| match &args[0] {
        Value::Cidr(address, length) => Ok(Value::Cidr(masked(*address, *length), *length)),
        _ => no_overload(),
    }),
    member("prefixLength", &[1], |args| match &args[0] {
        Value::Cidr(_, length) => Ok(Value::Int((*length).into())),
        _ => no_overload(),
    }),
];

fn text(args: &[Value], read: fn(&str) -> Returned) -> Returned {
    match &args[0] {
        Value::String(text) => read(text),
        _ => no_overload(),
    }
}

fn of(args: &[Value], read: fn(IpAddr) -> Value) -> Returned {
    match &args[0] {
        Value::Ip(address) => Ok(read(*address)),
        _ => no_overload(),
    }
}

/// Reads an address. As in Kubernetes, an IPv4 address in the form of IPv6 is refused.
fn address(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    match address {
        IpAddr::V6(it) if it.to_ipv4_mapped().is_some() => None,
        address => Some(address),
    }
}

fn network(text: &str) -> Option<Value> {
    let (ip, length) = text.split_once('/')?;
    let ip = address(ip)?;
    let is_plain = length == "0" || !length.starts_with(['0', '+']);
    let length: u8 = length.parse().ok().filter(|_| is_plain)?;
    (length <= bits(ip)).then_some(Value::Cidr(ip, length))
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(it) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            IpAddr::V4((it.to_bits() & mask).into())
        }
        IpAddr::V6(it) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            IpAddr::V6((it.to_bits() & mask).into())
        }
    }
}

fn holds(network: IpAddr, length: u8, it: IpAddr) -> bool {
    network.is_ipv4() == it.is_ipv4() && masked(network, length) == masked(it, length)
}

fn contains_ip(args: &[Value]) -> Returned {
    let it = match &args[1] {
        Value::Ip(it) => *it,
        Value::String(text) => address(text).ok_or("not an IP address")?,
        _ => return no_overload(),
    };
    match &args[0] {
        Value::Cidr(network, length) => Ok(Value::Bool(holds(*network, *length, it))),
        _ => no_overload(),
    }
}

fn contains_cidr(args: &[Value]) -> Returned {
    let other = match &args[1] {
        Value::String(text) => network(text).ok_or("not a network")?,
        other => other.clone(),
    };
    match (&args[0], other) {
        (Value::Cidr(network, length), Value::Cidr(it, other)) => Ok(Value::Bool(
            other >= *length && holds(*network, *length, it),
        )),
        _ => no_overload(),
    }
}

fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(it) => it.is_link_local(),
        IpAddr::V6(it) => it.is_unicast_link_local(),
    }
}

fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(it) => it.octets()[..3] == [224, 0, 0],
        IpAddr::V6(it) => it.octets()[0] == 0xff && it.octets()[1] & 0xf == 2,
    }
}

/// As in Go: neither unspecified, loopback, multicast, link-local nor the broadcast address. Private addresses count.
fn is_global_unicast(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(it) if it.is_broadcast());
    let is_special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
    !is_broadcast && !is_special && !is_link_local_unicast(address)
}
