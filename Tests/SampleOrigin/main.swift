import Foundation
import LarderTestSupport

func say(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
}

func serve(_ options: Options) throws {
    // Signals are blocked before the first thread starts, because threads inherit the mask. Only
    // `sigwait` may receive them.
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGHUP, SIGINT, SIGTERM] { sigaddset(&signals, signal) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    let icons = "\(options.directory)/icons"
    guard FileManager.default.fileExists(atPath: icons) else {
        throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: icons])
    }
    let origin = try Origin(port: options.port)
    // One day. Without it, freshness would depend on the age of the checkout.
    origin.serve(directory: icons, at: "/icons", maxAge: 86_400)
    say("listening on \(origin.baseURL)")
    if let file = options.readyFile {
        try Data("\(origin.baseURL)\n".utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
    }
    if options.endsWithInput {
        Thread.detachNewThread {
            while let data = try? FileHandle.standardInput.read(upToCount: 4096), !data.isEmpty {}
            kill(getpid(), SIGTERM)
        }
    }
    var signal: Int32 = 0
    while sigwait(&signals, &signal) != 0 {}
    origin.stop()
    if let file = options.readyFile { try? FileManager.default.removeItem(atPath: file) }
    say("\(origin.count()) requests served")
}

if ["-h", "--help"].contains(CommandLine.arguments.dropFirst().first) {
    print(Options.usage, terminator: "")
    exit(0)
}
guard let options = Options(CommandLine.arguments.dropFirst()) else {
    say(Options.usage)
    exit(64)
}
do {
    if let directory = options.samples {
        try SampleManifests.write(to: directory)
    } else {
        try serve(options)
    }
} catch let error as OriginError where error.isAddressInUse {
    say("sample-origin: port \(options.port) is taken by another process")
    exit(1)
} catch let error as CocoaError where error.code == .fileNoSuchFile {
    say("sample-origin: no directory \(error.filePath ?? options.directory)")
    exit(1)
} catch {
    say("sample-origin: \(error)")
    exit(1)
}
