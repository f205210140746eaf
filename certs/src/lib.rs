//! Berth: serving certificates: made, loaded, verified and reloaded without restart
