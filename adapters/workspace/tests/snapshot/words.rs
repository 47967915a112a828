//! Words that no file of the later snapshot has.

use std::collections::BTreeSet;

use unstuck_workspace::snapshot::Limits;

use crate::world::World;

#[test]
fn a_word_is_lost_if_no_file_has_it_any_more() {
    for (change, expected) in [
        ("true", ""),
        ("sed -i s/test_sub/test_other/ t/a.py", "test_sub"),
        ("sed -i s/test_sub/test_sub2/ t/a.py", "test_sub"),
        ("sed -i 's/^def test_sub/# def test_sub/' t/a.py", "test_sub"),
        ("rm t/a.py", "test_add test_sub"),
        ("rm -r t", "test_add test_sub"),
        ("mkdir u; mv t/a.py u/b.py", ""),
        ("sed 's/test_sub/test_sub(1)/' t/a.py >c.py; rm t/a.py", ""),
        // Another file had it all the time.
        ("sed -i 's/adds up//' t/a.py", ""),
        // A file that is ignored, in a cache or not text does not count.
        ("cp t/a.py a.log; rm t/a.py", "test_add test_sub"),
        ("mkdir c; cp t/a.py c; touch c/CACHEDIR.TAG; rm t/a.py", "test_add test_sub"),
        ("printf 'test_sub test_add\\0' >b.pyc; rm t/a.py", "test_add test_sub"),
        // A note about a deleted test does not count.
        ("echo 'test_sub and test_add were obsolete' >NOTES.md; rm t/a.py", "test_add test_sub"),
        // A file that is not read may have the word.
        ("rm t/a.py; head -c 3000 /dev/zero >large", ""),
    ] {
        let world = World::new(
            "git init --quiet -b work; echo '*.log' >.gitignore; mkdir t; echo 'it adds up' >README
             printf 'def test_sub():\\n  \"adds up\"\\ndef test_add():\\n' >t/a.py",
        );
        let snapshots = world.with_limits(Limits { file_bytes_max: 2000, ..Limits::default() });
        let first = snapshots.take(None).unwrap();
        world.sh(change);
        let now = snapshots.take(Some(&first)).unwrap();
        let words = BTreeSet::from(["test_sub", "test_add", "adds up", "never_there"]);
        let lost: Vec<&str> = snapshots.lost_words(&first, &now, &words).unwrap().into_iter().collect();
        assert_eq!(lost.join(" "), expected, "{change}");
    }
}
