//! Berth: the stored types of the hub, their names, labels, conditions and selectors
