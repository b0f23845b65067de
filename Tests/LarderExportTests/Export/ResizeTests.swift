import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderExport

private enum Programs {
    static let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"

    static func find(_ program: String) -> String? {
        path.split(separator: ":").map { "\($0)/\(program)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    static func areFound(_ programs: String...) -> Bool {
        programs.allSatisfy { find($0) != nil }
    }
}

/// Exports in the size shown, with a program in place of `vipsthumbnail` that obeys the icons.
@Suite(.enabled(if: Programs.areFound("prlimit", "setpriv", "flock"), "util-linux is missing"))
struct ResizeTests {
    private static func url(_ name: String) -> String { "https://a.example/\(name)" }

    /// Stores a PNG. The program obeys a word after its end.
    private func store(_ scene: ExportScene, _ name: String, side: Int = 64, word: String = "")
        throws
    {
        let seed = name.utf8.reduce(0) { 31 * $0 % 1000 + Int($1) }
        try scene.store(
            IconPainter.png(seed: seed, size: 64) + Array(word.utf8), at: Self.url(name),
            mediaType: "image/png", side: side)
    }

    /// Calls `body` with the directory of a program that notes its runs in `runs`. Its images of 10
    /// to 60 pixels are generated before.
    private func run(_ body: (ExportScene, _ programs: String) throws -> Void) throws {
        try ExportScene.run { scene in
            let programs = scene.directory.path("bin")
            try FileManager.default.createDirectory(
                atPath: programs, withIntermediateDirectories: true)
            for size in [10, 20, 30, 60] {
                try scene.overwrite(
                    "\(programs)/\(size).png", with: IconPainter.png(seed: size, size: size))
            }
            let script = """
                #!/bin/sh
                case "$*" in *--version*) echo vips-9; exit;; esac
                cd '\(programs)'
                echo "$*" >> runs
                case $(tr -d '\\0') in
                *HANGS*) (exec 9>left; flock 9; sleep 30; echo > late) & sleep 1000;;
                *CRASHES*) kill -SEGV $$;;
                *FLOODS*) yes;;
                *LIES*) echo 'no image'; exit;;
                *FAILS*) echo 'no memory' >&2; exit 1;;
                *MISFITS*) exec cat 60.png;;
                esac
                for size in 10 20 30 60; do
                    case "$*" in *" ${size}x$size "*) exec cat $size.png;; esac
                done

                """
            try writeProgram(script, to: "\(programs)/vipsthumbnail")
            try body(scene, programs)
        }
    }

    private func export(
        _ scene: ExportScene, _ layout: ExportLayout, _ programs: String, scales: Set<Int>,
        to path: String? = nil, configure: (inout ExportConfiguration) -> Void = { _ in }
    ) throws -> ExportReport {
        try scene.export(layout, to: path) {
            $0.resize = Resize(points: 10, scales: scales)
            $0.programs = "\(programs):\(Programs.path)"
            configure(&$0)
        }
    }

    private func runs(_ programs: String) -> Int {
        ((try? String(contentsOfFile: "\(programs)/runs", encoding: .utf8)) ?? "")
            .split(separator: "\n").count
    }

    @Test func filesHaveOneFileForEachScale() throws {
        try run { scene, programs in
            try store(scene, "large.png")
            try store(scene, "middle.png", side: 20)
            try scene.store(ExportScene.icon(0), at: Self.url("vector.svg"))
            let ico = IconPainter.ico(seed: 1)
            try scene.store(
                ico, at: Self.url("old.ico"), mediaType: "image/vnd.microsoft.icon", side: 48)
            let report = try export(scene, .files, programs, scales: [1, 2, 3])
            #expect(report.failed == 0 && report.resized == 2)
            let files = scene.files()
            #expect(
                Set(files.keys) == [
                    "large.png", "large@2x.png", "large@3x.png", "middle.png", "middle@2x.png",
                    "middle@3x.png", "vector.svg", "old.ico", "index.json", ".larder-resized",
                ])
            #expect(files["large@3x.png"] == IconPainter.png(seed: 30, size: 30))
            // Not larger than the icon.
            #expect(files["middle.png"] == IconPainter.png(seed: 10, size: 10))
            #expect(files["middle@2x.png"] == files["middle@3x.png"])
            #expect(files["old.ico"] == ico)
            let index = String(decoding: files["index.json"] ?? [], as: UTF8.self)
            #expect(index.contains(#""file":"large@3x.png""#))
            #expect(index.contains(#""width":30,"height":30"#))
        }
    }

    @Test func anImageSetNamesTheFileOfEachScale() throws {
        try run { scene, programs in
            try store(scene, "App.png")
            let target = scene.directory.path("Icons.xcassets")
            func export() throws -> ExportReport {
                try self.export(scene, .assetCatalog, programs, scales: [2, 3], to: target)
            }
            #expect(try export().resized == 1)
            #expect(try export().unchanged == 1)
            let files = scene.files(in: target)
            #expect(files["App.imageset/App@2x.png"] == IconPainter.png(seed: 20, size: 20))
            let contents = String(
                decoding: files["App.imageset/Contents.json"] ?? [], as: UTF8.self)
            #expect(contents.contains(#""filename" : "App@3x.png""#))
            #expect(contents.contains(#""scale" : "3x""#))
            // Without --resize, the set is as before.
            try scene.export(.assetCatalog, to: target) { $0.isPruning = true }
            #expect(
                Set(scene.files(in: target).keys)
                    == ["Contents.json", "App.imageset/Contents.json", "App.imageset/App.png"])
        }
    }

    /// The file of a scale is omitted if it would have the same bytes as the scale below it.
    @Test(arguments: [(8, ["App.png"]), (20, ["App.png", "App@2x.png"]), (64, allScales)])
    func anImageSetHasOneCopyOfASmallIcon(_ side: Int, _ names: [String]) throws {
        try run { scene, programs in
            try store(scene, "App.png", side: 64)
            _ = try export(scene, .assetCatalog, programs, scales: [1, 2, 3])
            try store(scene, "App.png", side: side, word: "again")
            #expect(try export(scene, .assetCatalog, programs, scales: [1, 2, 3]).failed == 0)
            let set = scene.files(in: "\(scene.target)/App.imageset")
            #expect(Set(set.keys) == Set(names + ["Contents.json"]))
            let contents = String(decoding: set["Contents.json"] ?? [], as: UTF8.self)
            #expect(contents.split(separator: "\"filename\"").count == names.count + 1)
        }
    }

    private static let allScales = ["App.png", "App@2x.png", "App@3x.png"]

    @Test(arguments: ExportLayout.allCases.filter(\.hasFolder))
    func aLibraryGetsTheLargestScale(_ layout: ExportLayout) throws {
        try run { scene, programs in
            try store(scene, "App.png")
            #expect(try export(scene, layout, programs, scales: [1, 3]).resized == 1)
            let library = try #require(layout.library)
            let folder = library.folders.joined(separator: "/")
            let name = library.file(library.stem(of: Self.url("App.png")))
            let files = scene.files()
            #expect(files["\(folder)/\(name)"] == IconPainter.png(seed: 30, size: 30))
            #expect(runs(programs) == 1)
            let journal = String(decoding: files["\(folder)/journal"] ?? [], as: UTF8.self)
            let size = IconPainter.png(seed: 30, size: 30).count
            #expect(library.journal == nil || journal.contains(" \(size)\n"))
            #expect(try export(scene, layout, programs, scales: [1, 3]).unchanged == 1)
            #expect(runs(programs) == 1)
        }
    }

    @Test(arguments: ExportLayout.allCases.filter { $0 != .gallery })
    func anSVGStaysAnSVG(_ layout: ExportLayout) throws {
        try run { scene, programs in
            try scene.store(ExportScene.icon(0), at: Self.url("App.svg"), side: 64)
            let report = try export(scene, layout, programs, scales: [1, 2])
            #expect(report.failed == 0 && report.resized == 0)
            #expect(scene.files().values.filter { $0 == ExportScene.icon(0) }.count == 1)
            #expect(runs(programs) == 0)
        }
    }

    /// `vipsthumbnail` would write only their first frame.
    @Test func animatedImagesAreCopiedUnchanged() throws {
        func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
            Array(type.utf8) + [UInt8(content.count & 255), UInt8(content.count >> 8), 0, 0]
                + content
        }
        let frame = chunk("ANMF", [UInt8](repeating: 0, count: 16) + IconPainter.webp.dropFirst(12))
        let canvas = chunk("VP8X", [2, 0, 0, 0, 63, 0, 0, 63, 0, 0])
        let loop = chunk("ANIM", [0, 0, 0, 0, 0, 0])
        let png = IconPainter.png(seed: 1, size: 64)
        let control: [UInt8] = [
            0, 0, 0, 8, 97, 99, 84, 76, 0, 0, 0, 2, 0, 0, 0, 0, 243, 141, 147, 112,
        ]
        let picture: [UInt8] = [0x2C, 0, 0, 0, 0, 7, 0, 5, 0, 0, 2, 2, 0x4C, 1, 0]
        let film: [UInt8] = Array("WEBP".utf8) + canvas + loop + frame + frame
        let icons: [String: [UInt8]] = [
            "a.gif": Array(IconPainter.gif(seed: 1, size: 64).dropLast()) + picture + [0x3B],
            "b.png": Array(png.prefix(33)) + control + Array(png.dropFirst(33)),
            "c.webp": chunk("RIFF", film),
        ]
        try run { scene, programs in
            for (name, bytes) in icons {
                try scene.store(
                    bytes, at: Self.url(name), mediaType: "image/\(name.dropFirst(2))", side: 64)
            }
            let report = try export(scene, .files, programs, scales: [1, 2])
            #expect(report.failed == 0 && report.resized == 0)
            let files = scene.files()
            #expect(files.count == 5)
            for (name, bytes) in icons { #expect(files[name] == bytes, "\(name)") }
            #expect(try export(scene, .files, programs, scales: [1, 2]).unchanged == 3)
            #expect(runs(programs) == 0)
        }
    }

    /// A copy of the directory before the last step is like the directory of a killed export.
    @Test func anExportAfterAKilledOneMakesNoImageAgain() throws {
        try run { scene, programs in
            for name in ["a.png", "b.png", "c.png"] { try store(scene, name) }
            var configuration = ExportConfiguration(layout: .files, directory: scene.target)
            configuration.resize = Resize(points: 10, scales: [1, 2])
            configuration.programs = "\(programs):\(Programs.path)"
            let killed = scene.directory.path("killed")
            _ = try Exporter(
                try Cache.open(at: scene.cachePath), configuration,
                onProgress: { progress in
                    guard progress.objects == 3 else { return }
                    try? FileManager.default.copyItem(atPath: scene.target, toPath: killed)
                }
            ).export(nil)
            #expect(runs(programs) == 6)
            let report = try export(scene, .files, programs, scales: [1, 2], to: killed)
            #expect(report.unchanged == 3 && report.failed == 0)
            #expect(runs(programs) == 6)
        }
    }

    @Test func onlyChangesAreMadeAgain() throws {
        try run { scene, programs in
            for name in ["a.png", "b.png"] { try store(scene, name) }
            #expect(try export(scene, .files, programs, scales: [1, 2]).resized == 2)
            #expect(runs(programs) == 4)
            let states = scene.fileStates()
            #expect(try export(scene, .files, programs, scales: [1, 2]).unchanged == 2)
            #expect(runs(programs) == 4)
            #expect(
                scene.fileStates().filter { $0.key != ".larder-resized" }
                    == states.filter { $0.key != ".larder-resized" })
            // A missing file, and a file of the right size with other bytes.
            let made = IconPainter.png(seed: 20, size: 20)
            try scene.overwrite(
                "\(scene.target)/a@2x.png", with: [UInt8](repeating: 1, count: made.count))
            unlink("\(scene.target)/b.png")
            #expect(try export(scene, .files, programs, scales: [1, 2]).resized == 2)
            #expect(runs(programs) == 6)
            #expect(scene.files()["a@2x.png"] == made)
            // A lost or damaged list only costs time.
            try scene.overwrite("\(scene.target)/.larder-resized", with: [1, 10, 2])
            #expect(try export(scene, .files, programs, scales: [1, 2]).unchanged == 2)
            #expect(runs(programs) == 10)
        }
    }

    @Test func aFailedIconKeepsItsOtherFiles() throws {
        try run { scene, programs in
            try store(scene, "a.png")
            _ = try export(scene, .files, programs, scales: [1, 2])
            for file in ["\(scene.target)/a@2x.png", "\(programs)/20.png"] { unlink(file) }
            let report = try export(scene, .files, programs, scales: [1, 2]) {
                $0.isPruning = true
            }
            #expect(report.failed == 1 && report.pruned == 0)
            let made = IconPainter.png(seed: 20, size: 20)
            try scene.overwrite("\(programs)/20.png", with: made)
            #expect(try export(scene, .files, programs, scales: [1, 2]).resized == 1)
            #expect(scene.files()["a@2x.png"] == made)
            // Later exports run the program only for the lost file.
            #expect(runs(programs) == 4)
        }
    }

    @Test func pruningRemovesTheFilesOfOtherScales() throws {
        try run { scene, programs in
            try store(scene, "a.png")
            _ = try export(scene, .files, programs, scales: [1, 2, 3])
            let report = try export(scene, .files, programs, scales: [1, 2]) {
                $0.isPruning = true
            }
            #expect(report.pruned == 1)
            let names = Set(scene.files().keys)
            #expect(names == ["a.png", "a@2x.png", "index.json", ".larder-resized"])
            try scene.export(.files) { $0.isPruning = true }
            #expect(Set(scene.files().keys) == ["a.png", "index.json"])
            #expect(scene.files()["a.png"]?.count ?? 0 > 0)
        }
    }

    /// The icon before and the icon after it are resized. Nothing that the program started is left.
    @Test(arguments: [
        ("HANGS", "did not end within 10 s"), ("CRASHES", "signal 11"), ("FLOODS", "signal 25"),
        ("LIES", "no valid image"), ("FAILS", "status 1: no memory"),
        ("MISFITS", "an image of another size"),
    ])
    func aProgramThatFailsCostsOneIcon(_ word: String, _ message: String) throws {
        try run { scene, programs in
            try store(scene, "a.png")
            try store(scene, "b.png", word: word)
            try store(scene, "c.png")
            let report = try export(scene, .files, programs, scales: [1]) {
                $0.resizeSeconds = 10
            }
            #expect(report.resized == 2 && report.failed == 1)
            #expect(report.problems.failures.map(\.code) == [.notResized])
            #expect(report.problems.failures[0].message.contains(message))
            #expect(
                Set(scene.files().keys) == ["a.png", "c.png", "index.json", ".larder-resized"])
            // A process that the program has started holds the lock until its end.
            let left = open("\(programs)/left", O_RDWR | O_CREAT, 0o600)
            #expect(flock(left, LOCK_EX) == 0)
            close(left)
            #expect(!FileManager.default.fileExists(atPath: "\(programs)/late"))
        }
    }

    @Test func aDecompressionBombIsNotDecoded() throws {
        try run { scene, programs in
            try store(scene, "bomb.png", side: 60_000)
            try store(scene, "overflow.png", side: .max)
            try store(scene, "negative.png", side: -60_000)
            try store(scene, "a.png")
            let report = try export(scene, .files, programs, scales: [1])
            #expect(report.problems.counts[.notResized] ?? 0 >= 2)
            #expect(report.resized == 1)
            #expect(runs(programs) == 1)
        }
    }

    @Test func aFailedIconKeepsItsEarlierFiles() throws {
        try run { scene, programs in
            try store(scene, "a.png")
            _ = try export(scene, .files, programs, scales: [1, 2])
            try store(scene, "a.png", word: "FAILS")
            let report = try export(scene, .files, programs, scales: [1, 2]) {
                $0.isPruning = true
            }
            #expect(report.failed == 1 && report.pruned == 0)
            #expect(scene.files()["a@2x.png"] == IconPainter.png(seed: 20, size: 20))
        }
    }

    @Test func aMissingProgramStopsTheExportBeforeItWrites() throws {
        try run { scene, programs in
            try store(scene, "a.png")
            unlink("\(programs)/vipsthumbnail")
            #expect(throws: MissingProgramError.self) {
                try export(scene, .files, programs, scales: [1]) { $0.programs = programs }
            }
            try writeProgram("#!/bin/false\n", to: "\(programs)/vipsthumbnail")
            #expect(throws: MissingProgramError.self) {
                try export(scene, .files, programs, scales: [1])
            }
            #expect(scene.files().isEmpty)
        }
    }

    // MARK: - The real program

    @Test(
        .enabled(
            if: Programs.areFound("vipsthumbnail", "convert", "compare"),
            "libvips-tools and imagemagick are missing"))
    func resizedIconsResembleThoseOfImageMagick() throws {
        try ExportScene.run { scene in
            let icons = [
                ("a.png", "image/png", IconPainter.png(seed: 1, size: 200)),
                ("b.jpg", "image/jpeg", IconPainter.jpeg(seed: 2, size: 200)),
                ("c.png", "image/png", IconPainter.png(seed: 3, size: 160)),
            ]
            for (name, type, bytes) in icons {
                try scene.store(
                    bytes, at: Self.url(name), mediaType: type, side: name == "c.png" ? 160 : 200)
                try scene.overwrite(scene.directory.path(name), with: bytes)
            }
            let again = scene.directory.path("again")
            for path in [scene.target, again] {
                let report = try scene.export(.files, to: path) {
                    $0.resize = Resize(points: 60, scales: [1])
                }
                #expect(report.resized == 3, "\(report.problems.failures)")
            }
            #expect(scene.files() == scene.files(in: again))
            for (name, _, _) in icons {
                let source = scene.directory.path(name)
                let psnr = try psnr(scene, source, "\(scene.target)/\(name)")
                #expect(psnr >= 35, "\(name)")
            }
        }
    }

    /// Decoders replace damaged pixels with black by default.
    @Test(.enabled(if: Programs.areFound("vipsthumbnail"), "libvips-tools is missing"))
    func damagedPixelsCostOneIcon() throws {
        try ExportScene.run { scene in
            var damaged = IconPainter.png(seed: 1, size: 200)
            damaged[damaged.count / 2] ^= 0xFF
            for (name, bytes) in [
                ("a.png", IconPainter.png(seed: 2, size: 200)), ("b.png", damaged),
            ] {
                try scene.store(bytes, at: Self.url(name), mediaType: "image/png", side: 200)
            }
            let report = try scene.export(.files) { $0.resize = Resize(points: 60, scales: [1]) }
            #expect(report.resized == 1)
            #expect(report.problems.failures.map(\.code) == [.notResized])
            #expect(report.problems.failures.first?.message.contains("read error") == true)
        }
    }

    /// Returns the similarity of an image with ImageMagick's, in decibels.
    private func psnr(_ scene: ExportScene, _ source: String, _ image: String) throws -> Double {
        func magick(_ program: String, _ arguments: String...) throws -> Finished {
            try RunningProcess(try #require(Programs.find(program)), arguments).wait()
        }
        let (wanted, found) = (scene.directory.path("1.png"), scene.directory.path("2.png"))
        let white = ["-background", "white", "-flatten"]
        _ = try magick(
            "convert", source, "-filter", "Lanczos", "-resize", "60x60", white[0], white[1],
            white[2], wanted)
        _ = try magick("convert", image, white[0], white[1], white[2], found)
        let compared = try magick("compare", "-metric", "PSNR", wanted, found, "null:")
        let number = compared.standardError.prefix { !$0.isWhitespace && $0 != "(" }
        return try #require(Double(number), "\(compared)")
    }
}
