//! The order of the table.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::fact::ClusterFact;

/// Upper bound on the fields of an order.
const MOST_FIELDS: usize = 4;

/// Fields to order by, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sort(Vec<(Field, Direction)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    State,
    Since,
    Set,
    Version,
    Cpu,
    Memory,
    Taints,
    Created,
}

/// The order cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadSort(pub(crate) String);

const FIELDS: [(&str, Field); 9] = [
    ("name", Field::Name),
    ("state", Field::State),
    ("since", Field::Since),
    ("set", Field::Set),
    ("version", Field::Version),
    ("cpu", Field::Cpu),
    ("memory", Field::Memory),
    ("taints", Field::Taints),
    ("created", Field::Created),
];

// === impl Sort ===

impl Sort {
    /// Parses `FIELD,-FIELD`; `-` orders downwards. The empty text orders by name.
    ///
    /// # Errors
    /// A field is unknown, or there are too many.
    pub(crate) fn parse(text: &str) -> Result<Self, BadSort> {
        let mut fields = Vec::new();
        for word in text.split(',').filter(|_| !text.is_empty()) {
            let (name, direction) = match word.strip_prefix('-') {
                Some(name) => (name, Direction::Down),
                None => (word, Direction::Up),
            };
            let Some((_, field)) = FIELDS.iter().find(|(it, _)| *it == name) else {
                let names = FIELDS.map(|(name, _)| name).join(", ");
                let why = format!("sort: {name:?} is not a field: fields are {names}");
                return Err(BadSort(why));
            };
            if fields.len() == MOST_FIELDS {
                return Err(BadSort(format!("sort: at most {MOST_FIELDS} fields")));
            }
            fields.push((*field, direction));
        }
        Ok(Self(fields))
    }

    pub(super) fn apply(&self, rows: &mut [&Arc<ClusterFact>]) {
        // Rows come by name.
        if !self.0.is_empty() {
            rows.sort_unstable_by(|a, b| self.compare(a, b));
        }
    }

    fn compare(&self, a: &ClusterFact, b: &ClusterFact) -> Ordering {
        for (field, direction) in &self.0 {
            let order = field.compare(a, b);
            let order = match direction {
                Direction::Up => order,
                Direction::Down => order.reverse(),
            };
            if order.is_ne() {
                return order;
            }
        }
        a.name.cmp(&b.name)
    }
}

// === impl Field ===

impl Field {
    fn compare(self, a: &ClusterFact, b: &ClusterFact) -> Ordering {
        match self {
            Self::Name => a.name.cmp(&b.name),
            Self::State => a.row.state.cmp(&b.row.state),
            Self::Since => a.row.since.cmp(&b.row.since),
            Self::Set => a.set.cmp(&b.set),
            Self::Version => a.version.cmp(&b.version),
            Self::Cpu => a.cpu.total_cmp(&b.cpu),
            Self::Memory => a.memory.total_cmp(&b.memory),
            Self::Taints => a.row.taints.cmp(&b.row.taints),
            Self::Created => a.row.created.cmp(&b.row.created),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_list_of_known_fields() {
        assert_eq!(Sort::parse(""), Ok(Sort::default()));
        let sort = Sort::parse("state,-version").unwrap();
        assert_eq!(
            sort.0,
            [
                (Field::State, Direction::Up),
                (Field::Version, Direction::Down)
            ]
        );
        for (text, why) in [
            ("age", "\"age\" is not a field: fields are name, state"),
            ("name,", "\"\" is not a field"),
            ("--name", "\"-name\" is not a field"),
            ("name,name,name,name,name", "at most 4 fields"),
        ] {
            let bad = Sort::parse(text).unwrap_err();
            assert!(bad.0.contains(why), "{text}: {}", bad.0);
        }
    }
}
