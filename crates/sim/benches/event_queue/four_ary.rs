//! An implicit 4-ary heap of every pending event.

use crate::every_event::{Entry, EveryEvent};

const ARITY: usize = 4;

#[derive(Default)]
pub struct FourAryHeap(Vec<Entry>);

impl EveryEvent for FourAryHeap {
    #[inline]
    fn push(&mut self, entry: Entry) {
        let heap = &mut self.0;
        heap.push(entry);
        let mut hole = heap.len() - 1;
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if heap[parent].key() <= entry.key() {
                break;
            }
            heap[hole] = heap[parent];
            hole = parent;
        }
        heap[hole] = entry;
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        let last = self.0.pop()?;
        let heap = self.0.as_mut_slice();
        let Some(first) = heap.first().copied() else {
            return Some(last);
        };
        let mut hole = 0;
        loop {
            let children = hole * ARITY + 1;
            let Some(earliest) = earliest(heap, children) else { break };
            if heap[earliest].key() >= last.key() {
                break;
            }
            heap[hole] = heap[earliest];
            hole = earliest;
        }
        heap[hole] = last;
        Some(first)
    }
}

/// The earliest of up to four siblings, of which `first` is the first.
#[inline]
fn earliest(heap: &[Entry], first: usize) -> Option<usize> {
    if let Some([a, b, c, d]) = heap.get(first..first + ARITY) {
        // All four are there nearly always: two rounds of a knockout depend on each other less than a scan.
        let left = if b.key() < a.key() { (first + 1, b.key()) } else { (first, a.key()) };
        let right = if d.key() < c.key() { (first + 3, d.key()) } else { (first + 2, c.key()) };
        return Some(if right.1 < left.1 { right.0 } else { left.0 });
    }
    (first..heap.len()).min_by_key(|at| heap[*at].key())
}
