#ifndef LARDER_CYAML_SHIM_H
#define LARDER_CYAML_SHIM_H

#include <yaml.h>

#endif
