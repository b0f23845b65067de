import Foundation
import LarderTestSupport
import Testing

@testable import LarderManifest

@Suite struct ManifestSourceTests {
    private static let manifest = #"[{"icon":"https://a.example/1.png"}]"#

    @Test func aManifestFileIsRead() throws {
        let path = NSTemporaryDirectory() + "larder-manifest-\(UUID().uuidString).json"
        defer { unlink(path) }
        try Data(Self.manifest.utf8).write(to: URL(fileURLWithPath: path))
        #expect(try readManifest(.file(path)).words == ["https://a.example/1.png"])
    }

    @Test func aMissingFileIsReported() throws {
        let path = NSTemporaryDirectory() + "larder-\(UUID().uuidString)/none.json"
        let error = try #require(try manifestError(.file(path)))
        #expect(error.code == .missing)
        #expect(error.errorNumber == ENOENT)
        #expect(error.description == "\(path): cannot open: No such file or directory")
    }

    @Test func aDirectoryIsReportedAsUnreadable() throws {
        let error = try #require(try manifestError(.file(NSTemporaryDirectory())))
        #expect(error.code == .unreadable)
        #expect(error.errorNumber == EISDIR)
    }

    @Test func aPathWithANullCharacterIsRefused() throws {
        #expect(try manifestError(.file("/etc/hosts\0.json"))?.code == .unreadable)
    }

    /// All formats are read from a pipe that delivers one byte at a time.
    @Test func manifestsAreReadFromASlowPipe() throws {
        let icon = "https://a.example/1.png"
        let binary = try PropertyListSerialization.data(
            fromPropertyList: [["icon": icon]], format: .binary, options: 0)
        let manifests = [
            Array(Self.manifest.utf8), Array(binary),
            Array(
                xmlPlist("<array><dict><key>icon</key><string>\(icon)</string></dict></array>").utf8
            ),
            Array("{\"icon\":\"\(icon)\"}\n".utf8),
        ]
        for manifest in manifests {
            let pipe = Pipe()
            let writer = Thread {
                for byte in manifest { pipe.fileHandleForWriting.write(Data([byte])) }
                try? pipe.fileHandleForWriting.close()
            }
            writer.start()
            let source = ManifestSource.descriptor(
                pipe.fileHandleForReading.fileDescriptor, name: "pipe")
            #expect(try readManifest(source).words == [icon])
        }
    }

    /// Another process may have read from the file before, so the manifest need not start at offset
    /// 0.
    @Test func aDescriptorIsReadFromItsCurrentOffset() throws {
        try withTemporaryDirectory { directory in
            let binary = try PropertyListSerialization.data(
                fromPropertyList: [["icon": "https://a.example/1.png"]], format: .binary, options: 0
            )
            let path = directory.path("file")
            try (Data("bplist00 no more".utf8) + binary).write(to: URL(fileURLWithPath: path))
            let file = try #require(FileHandle(forReadingAtPath: path))
            try file.seek(toOffset: 16)
            let source = ManifestSource.descriptor(file.fileDescriptor, name: "file")
            #expect(try readManifest(source).words == ["https://a.example/1.png"])
        }
    }

    @Test func aBinaryPlistFromAPipeIsBounded() throws {
        let binary = try PropertyListSerialization.data(
            fromPropertyList: [["icon": "https://a.example/1.png"]], format: .binary, options: 0)
        let pipe = Pipe()
        pipe.fileHandleForWriting.write(binary)
        try pipe.fileHandleForWriting.close()
        let source = ManifestSource.descriptor(
            pipe.fileHandleForReading.fileDescriptor, name: "pipe")
        let limits = ManifestLimits(maximumPipedSize: binary.count - 1)
        #expect(try manifestError(source, limits: limits)?.code == .tooLarge)
    }
}
