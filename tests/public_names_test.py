"""The names of the public headers are those that docs/public_names.txt keeps: none goes, or comes, unnoticed."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("public_names", str(ROOT / "scripts/public_names"))
public_names = importlib.util.module_from_spec(importlib.util.spec_from_loader("public_names", loader))
loader.exec_module(public_names)

HEADER = """
#define QUADRANT_PUBLIC(x) x
#define QUADRANT_DETAIL_HIDDEN(x) x
namespace quadrant::inline v0 {
class Forward;
class Known final : public Other {
 public:
  int member() const;
};
enum class Kind : std::uint8_t { a, b };
using Alias = int;
inline constexpr int number = 3;
[[nodiscard]] Expected<void> call(int a,
                                  int b);
namespace detail {
int hidden();
}  // namespace detail
std::string_view to_string(Kind kind) noexcept;
}  // namespace quadrant::inline v0
"""


class PublicNamesTest(unittest.TestCase):
    def test_what_is_a_name(self):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / "h.hpp"
            header.write_text(HEADER, "utf-8")
            self.assertEqual(list(public_names.names_in(header)),
                             ["QUADRANT_PUBLIC", "Known", "Kind", "Alias", "number", "call", "to_string"])

    def test_names_are_those_that_are_kept(self):
        kept = set((ROOT / "docs/public_names.txt").read_text("utf-8").splitlines())
        now = set(public_names.names().splitlines())
        self.assertEqual(sorted(kept - now), [], "gone: leave a deprecated alias, or say why in CHANGELOG.md")
        self.assertEqual(sorted(now - kept), [], "new: scripts/public_names --write")


if __name__ == "__main__":
    unittest.main()
