import Foundation
import LarderTestSupport
import Testing

@Suite struct LarderBinaryTests {
    @Test func larderBinaryFindsExecutablesBuiltWithTheTests() throws {
        let finished = try LarderBinary("sample-origin").run(["--what"])
        #expect(finished.status == 64)
        #expect(finished.standardError.hasPrefix("usage: sample-origin"))
        #expect(throws: LarderBinary.NotBuilt.self) { try LarderBinary("no-such-thing") }
    }
}

@Suite struct SampleOriginTests {
    @Test func sampleOriginServesUntilStandardInputEnds() throws {
        try withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: directory.path("icons"), withIntermediateDirectories: false)
            let finished = try LarderBinary("sample-origin").run(
                [
                    "--port", "0", "--directory", directory.path, "--until-eof",
                    "--ready-file", directory.path("ready"),
                ], standardInput: Data())
            #expect(finished.status == 0)
            let lines = finished.standardError.split(separator: "\n")
            #expect(lines.first?.hasPrefix("listening on http://127.0.0.1:") == true)
            #expect(lines.last == "0 requests served")
            #expect(!FileManager.default.fileExists(atPath: directory.path("ready")))
        }
    }

    @Test func sampleOriginReportsMissingIconsAndABusyPort() throws {
        try withTemporaryDirectory { directory in
            let binary = try LarderBinary("sample-origin")
            let missing = try binary.run(["--directory", directory.path])
            #expect(missing.status == 1)
            #expect(missing.standardError.contains("no directory \(directory.path)/icons"))
            try FileManager.default.createDirectory(
                atPath: directory.path("icons"), withIntermediateDirectories: false)
            let other = try Origin()
            let busy = try binary.run(["--port", "\(other.port)", "--directory", directory.path])
            #expect(busy.status == 1)
            #expect(busy.standardError.contains("port \(other.port) is taken"))
        }
    }
}
