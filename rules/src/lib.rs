//! Berth: the rules of the gate, pure
