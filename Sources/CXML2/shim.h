#ifndef LARDER_CXML2_SHIM_H
#define LARDER_CXML2_SHIM_H

// libxml2's ICU declarations are not used and conflict with Foundation's.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <libxml/xmlreader.h>
#include <stdio.h>

/// The first fatal error. Until then, `level` is not XML_ERR_FATAL.
typedef struct {
    int level;
    int code;
    int line;
    char message[256];
    xmlStructuredErrorFunc outer_handler;
    void *outer_context;
} larder_xml_problem;

// The parameter is const since libxml2 2.12.
#if LIBXML_VERSION >= 21200
static void larder_xml_note(void *context, const xmlError *error) {
#else
static void larder_xml_note(void *context, xmlError *error) {
#endif
    larder_xml_problem *problem = (larder_xml_problem *)context;
    if (problem->level == XML_ERR_FATAL || error->level < XML_ERR_FATAL) return;
    problem->level = error->level;
    problem->code = error->code;
    problem->line = error->line;
    snprintf(problem->message, sizeof problem->message, "%s", error->message ? error->message : "");
}

/// Stores this thread's first fatal XML error in `problem`, and prints nothing. Some errors occur
/// outside a reader or before it exists, for example unknown encodings.
static inline void larder_xml_collect(larder_xml_problem *problem) {
    problem->outer_handler = xmlStructuredError;
    problem->outer_context = xmlStructuredErrorContext;
    xmlSetStructuredErrorFunc(problem, larder_xml_note);
}

/// Also stores errors of the reader.
static inline void larder_xml_collect_from(xmlTextReaderPtr reader, larder_xml_problem *problem) {
    xmlTextReaderSetStructuredErrorHandler(reader, larder_xml_note, problem);
}

static inline void larder_xml_stop_collecting(larder_xml_problem *problem) {
    xmlSetStructuredErrorFunc(problem->outer_context, problem->outer_handler);
}

static inline const char *larder_xml_message(const larder_xml_problem *problem) {
    return problem->message;
}

#endif
