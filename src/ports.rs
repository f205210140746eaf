//! The flags for ports, with OCM's meaning.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use anyhow::Context;
use berth_serve::listen;
use tokio::net::TcpListener;

/// The value of a port flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// This port.
    Number(u16),
    /// Zero or less: in OCM, the default port or no port, depending on the flag.
    Unset,
    /// Any free port.
    Auto,
}

impl FromStr for Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match text.parse::<i64>() {
            Ok(..=0) => Ok(Self::Unset),
            Ok(number) => u16::try_from(number)
                .map(Self::Number)
                .map_err(|_| "the highest port is 65535".to_owned()),
            Err(_) => Err("expected a port number, or 'auto' for any free port".to_owned()),
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Unset => f.write_str("0"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl Port {
    /// Replaces [`Port::Unset`] by a default.
    pub(crate) fn or(self, default: u16) -> Self {
        if self == Self::Unset {
            Self::Number(default)
        } else {
            self
        }
    }

    /// Opens the port, unless it is unset.
    ///
    /// # Errors
    /// The port cannot be opened; the message names the flag and the address.
    pub(crate) async fn open(
        self,
        flag: &str,
        address: IpAddr,
    ) -> anyhow::Result<Option<TcpListener>> {
        let number = match self {
            Self::Number(number) => number,
            Self::Auto => 0,
            Self::Unset => return Ok(None),
        };
        let listener = listen(address, number).await.with_context(|| {
            format!("{flag} {self}: cannot listen on {address}; choose another port, or 'auto' for any free one")
        })?;
        Ok(Some(listener))
    }
}

/// The value of a flag with address and port: `IP:PORT` or `:PORT`; the port may be `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    ip: IpAddr,
    port: Port,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (ip, port) = text.rsplit_once(':').ok_or("expected IP:PORT or :PORT")?;
        let bare = ip.strip_prefix('[').and_then(|ip| ip.strip_suffix(']'));
        let ip = match (bare, ip) {
            (None, "") => Ok(Ipv6Addr::UNSPECIFIED.into()),
            (Some(ip), _) => ip.parse::<Ipv6Addr>().map(IpAddr::from),
            (None, ip) => ip.parse::<Ipv4Addr>().map(IpAddr::from),
        };
        let ip =
            ip.map_err(|_| "expected an IP address before the port, an IPv6 one in brackets")?;
        match port.parse()? {
            Port::Unset => Err("expected a port number greater than 0, or 'auto'".to_owned()),
            port => Ok(Self { ip, port }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            ip if ip == Ipv6Addr::UNSPECIFIED => write!(f, ":{}", self.port),
            IpAddr::V4(ip) => write!(f, "{ip}:{}", self.port),
            IpAddr::V6(ip) => write!(f, "[{ip}]:{}", self.port),
        }
    }
}

impl Address {
    /// Opens the port.
    ///
    /// # Errors
    /// The port cannot be opened; the message names the flag and the address.
    pub(crate) async fn open(self, flag: &str) -> anyhow::Result<TcpListener> {
        let listener = self.port.open(flag, self.ip).await?;
        listener.with_context(|| format!("{flag}: a port is required"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_an_ip_and_a_port() {
        for text in [":8443", "127.0.0.1:8443", "[::1]:auto", "0.0.0.0:1"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for (text, says) in [
            ("8443", "IP:PORT"),
            ("localhost:8443", "IP address"),
            ("::1:8443", "brackets"),
            ("[127.0.0.1]:8443", "IP address"),
            (":0", "greater than 0"),
            (":http", "port number"),
            (":65536", "65535"),
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn ports_mean_what_they_mean_to_ocm() {
        for (text, port) in [
            ("9443", Port::Number(9443)),
            ("0", Port::Unset),
            ("-1", Port::Unset),
            ("auto", Port::Auto),
        ] {
            assert_eq!(text.parse(), Ok(port));
        }
        assert_eq!(Port::Unset.or(9443), Port::Number(9443));
        assert!("65536".parse::<Port>().unwrap_err().contains("65535"));
        assert!("http".parse::<Port>().unwrap_err().contains("port number"));
    }
}
