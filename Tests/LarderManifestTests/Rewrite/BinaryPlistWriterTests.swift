import Foundation
import LarderTestSupport
import Testing

@testable import LarderManifest

/// Copies of binary property lists, read by Foundation.
@Suite struct BinaryPlistWriterTests {
    private typealias Tree = [String: [[String: any Sendable]]]

    /// Replaces each icon by `value`, and compares the copy with the same change in memory.
    private func check(_ tree: Tree, _ value: (Int) -> String) throws -> [UInt8] {
        let bytes = Array(
            try PropertyListSerialization.data(fromPropertyList: tree, format: .binary, options: 0))
        var edits: [CatalogueEdit] = []
        _ = try ManifestReader(source: .bytes(bytes, name: "test")).read { item in
            guard let span = item.value?.span else { return }
            let place = item.position - 1
            edits.append(CatalogueEdit(span: span, number: Int64(place % 50), text: value(place)))
        }
        edits.sort { $0.span.lowerBound < $1.span.lowerBound }
        let copy = try CatalogueCopyTests.copy(bytes, as: .binaryPlist, edits).bytes
        #expect(try CatalogueCopyTests.copy(bytes, as: .binaryPlist, edits).bytes == copy)
        var expected = tree
        for index in 0..<tree["apps", default: []].count {
            expected["apps"]?[index]["icon"] = value(index)
        }
        let read = try PropertyListSerialization.propertyList(
            from: Data(copy), options: [], format: nil)
        #expect(NSDictionary(dictionary: expected).isEqual(read))
        return copy
    }

    private func tree(_ count: Int) -> Tree {
        var random = Pseudorandom(seed: count)
        var apps: [[String: any Sendable]] = []
        for index in 0..<count {
            let url = "https://a.example/\(index % 60)"
            var app: [String: any Sendable] = ["icon": url, "name": "App \(index) é"]
            app["home"] = index % 3 == 0 ? url : ""
            app["size"] = random.next(below: 1 << 40)
            app["ratio"] = 0.5
            app["isNew"] = index % 2 == 0
            app["data"] = Data(repeating: 7, count: random.next(below: 300))
            app["date"] = Date(timeIntervalSinceReferenceDate: Double(index))
            app["more"] = ["🙂", "🙂 \(index)"]
            apps.append(app)
        }
        return ["apps": apps]
    }

    /// The numbers of objects need one byte, two bytes, and two instead of one because of the new
    /// strings.
    @Test(arguments: [1, 9, 25, 33, 34, 35, 36, 300, 9_000])
    func onlyIconsChange(_ count: Int) throws {
        _ = try check(tree(count)) { "icons/\($0 % 50).png" }
    }

    @Test func aLongValueIsWritten() throws {
        _ = try check(tree(2)) { _ in String(repeating: "a", count: 70_000) }
    }

    @Test func aReplacedStringIsKeptOnlyIfItIsUsed() throws {
        func holds(_ url: String, _ bytes: [UInt8]) -> Bool {
            Data(bytes).range(of: Data(url.utf8)) != nil
        }
        let copy = try check(tree(3)) { _ in "a.png" }
        #expect(holds("https://a.example/0", copy))
        #expect(!holds("https://a.example/1", copy))
    }

    /// The byte before a text is its length, for example 48, the digit 0.
    @Test(arguments: [24, 38, 48, 57, 65, 92, 97, 122, 200], ["", "é"])
    func aRemainingURLOfAnyLengthIsCounted(_ length: Int, _ end: String) throws {
        let start = "https://a.example/b.png?"
        let url = start + String(repeating: "a", count: length - start.count) + end
        let bytes = try PropertyListSerialization.data(
            fromPropertyList: ["apps": [["icon": url]]], format: .binary, options: 0)
        let copy = try CatalogueCopyTests.copy(Array(bytes), as: .binaryPlist, [])
        #expect(copy.remaining == 1)
    }

    /// An array that contains itself, and objects that overlap, must not take endless time.
    @Test func damagedFilesAreRefusedOrCopied() throws {
        var builder = BinaryPlistBuilder()
        let icon = builder.add(icon: "https://a.example/1")
        builder.root = Int(builder.add(array: [icon, UInt8(builder.objects.count)]))
        let bytes = builder.bytes
        let edit = CatalogueEdit(span: 40..<41, number: 0, text: "a.png")
        for place in bytes.indices {
            for value: UInt8 in [0, 0x0F, 0x4F, 0xAF, 0xDF, 0xFF] {
                var damaged = bytes
                damaged[place] = value
                let result = Result {
                    try CatalogueCopyTests.copy(damaged, as: .binaryPlist, [edit]).bytes.count
                }
                switch result {
                case .success(let count): #expect(count < 1 << 21)
                case .failure(let error): #expect(error is ManifestError)
                }
            }
        }
    }
}
