# A Homebrew formula for the source archive in the same folder. Scripts/package replaces the names
# between @ signs. Unverified: Homebrew was not available.
class Larder < Formula
  desc "Fills an offline icon cache ahead of time"
  url "file://#{__dir__}/larder-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on xcode: ["16.3", :build]
  depends_on "libyaml"
  depends_on macos: :sequoia

  uses_from_macos "swift" => :build
  uses_from_macos "curl"
  uses_from_macos "libxml2"
  uses_from_macos "sqlite"
  uses_from_macos "zlib"

  def install
    ENV["LARDER_COMMIT"] = "@COMMIT@"
    system "swift", "build", "--disable-sandbox", "-c", "release", "--product", "larder"
    system "swift", "build", "--disable-sandbox", "-c", "release", "--product", "rehearse"
    bin.install ".build/release/larder"
    bin.install ".build/release/rehearse" => "larder-rehearse"
    generate_completions_from_executable(bin/"larder", "--generate-completion-script")
    doc.install "README.md", "docs"
  end

  test do
    assert_match "larder #{version} ", shell_output("#{bin}/larder --version")
    (testpath/"apps.json").write('[{"name": "Notes", "icon": "http://127.0.0.1:1/notes.png"}]')
    system bin/"larder", "plan", "apps.json", "--cache", testpath/"cache"
  end
end
