//! Opening a port.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;

/// Opens a port; 0 means any free one. The unspecified address of IPv6 takes IPv6 and IPv4; on a host without IPv6 it is IPv4 alone.
///
/// # Errors
/// Those of the system, for example because the port is in use.
pub async fn listen(address: IpAddr, port: u16) -> io::Result<TcpListener> {
    let bound = TcpListener::bind(SocketAddr::new(address, port)).await;
    match bound {
        Err(error)
            if address.is_ipv6()
                && address.is_unspecified()
                && error.kind() != io::ErrorKind::AddrInUse =>
        {
            TcpListener::bind(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port)).await
        }
        bound => bound,
    }
}
