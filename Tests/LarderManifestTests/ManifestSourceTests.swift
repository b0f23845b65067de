import Foundation
import LarderTestSupport
import Testing

@testable import LarderManifest

@Suite struct ManifestSourceTests {
    private static let manifest = #"[{"icon":"https://a.example/1.png"}]"#

    @Test func readsAFile() throws {
        let path = NSTemporaryDirectory() + "larder-manifest-\(UUID().uuidString).json"
        defer { unlink(path) }
        try Data(Self.manifest.utf8).write(to: URL(fileURLWithPath: path))
        #expect(try readManifest(.file(path)).words == ["https://a.example/1.png"])
    }

    @Test func reportsAMissingFile() throws {
        let path = NSTemporaryDirectory() + "larder-\(UUID().uuidString)/none.json"
        let error = try #require(try manifestError(.file(path)))
        #expect(error.code == .missing)
        #expect(error.errorNumber == ENOENT)
        #expect(error.description == "\(path): cannot open: No such file or directory")
    }

    @Test func reportsADirectory() throws {
        let error = try #require(try manifestError(.file(NSTemporaryDirectory())))
        #expect(error.code == .unreadable)
        #expect(error.errorNumber == EISDIR)
    }

    @Test func refusesAPathWithANUL() throws {
        #expect(try manifestError(.file("/etc/hosts\0.json"))?.code == .unreadable)
    }

    /// In all formats, from a pipe that gives a byte at a time.
    @Test func readsASlowPipe() throws {
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

    /// A file's beginning is not the manifest's where somebody has read from it.
    @Test func aDescriptorIsReadFromWhereItStands() throws {
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

    @Test func boundsABinaryPlistFromAPipe() throws {
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
