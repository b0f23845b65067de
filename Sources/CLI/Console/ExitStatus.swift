import ArgumentParser
import Foundation
import LarderCache
import LarderExport
import LarderManifest

enum ExitStatus: Int32, CaseIterable {
    case done = 0
    case couldNotRun = 1
    case someFailed = 2
    // Status 64, wrong usage, is `ExitCode.validationFailure`.
    case badManifest = 65
    case missingInput = 66
    case missingProgram = 69
    case storage = 74
    case locked = 75
    case interrupted = 130
    case terminated = 143

    static var list: String {
        let usage = (ExitCode.validationFailure.rawValue, "wrong usage")
        return (allCases.map { ($0.rawValue, $0.meaning) } + [usage]).sorted { $0.0 < $1.0 }
            .map { "  " + "\($0)".padding(toLength: 5, withPad: " ", startingAt: 0) + $1 }
            .joined(separator: "\n")
    }

    private var meaning: String {
        switch self {
        case .done: "everything requested is done"
        case .couldNotRun: "the command could not run"
        case .someFailed: "some entries failed, corruption was found, or a limit could not be met"
        case .badManifest: "a manifest is not valid"
        case .missingInput: "an input or the cache is missing"
        case .missingProgram: "a program that an option needs is missing"
        case .storage: "the disk is full or failing, or output was lost; stored objects are kept"
        case .locked: "another process holds the lock"
        case .interrupted: "interrupted; finished work is kept"
        case .terminated: "terminated; finished work is kept"
        }
    }

    init(_ error: any Error) {
        switch error {
        case let error as CacheError: self.init(error.code)
        case let error as ManifestError:
            switch error.code {
            case .unreadable where [EMFILE, ENFILE].contains(error.errorNumber): self = .couldNotRun
            case .missing, .unreadable: self = .missingInput
            default: self = .badManifest
            }
        case is MissingInputError: self = .missingInput
        case is MissingProgramError: self = .missingProgram
        default: self = .couldNotRun
        }
    }

    /// The parser would add the usage to a thrown `ValidationError`.
    static func code(of error: any Error) -> ExitCode {
        error is ValidationError ? .validationFailure : ExitCode(ExitStatus(error).rawValue)
    }

    init(_ code: CacheError.Code) {
        switch code {
        case .storage: self = .storage
        case .locked: self = .locked
        case .corrupt, .obstructed: self = .someFailed
        case .unusable, .missing, .index, .damaged: self = .couldNotRun
        }
    }

    func exit() throws { if self != .done { throw ExitCode(rawValue) } }
}
