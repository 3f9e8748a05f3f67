/* Quadrant for C, and for languages that call C: a model is read, a recipe run on it, decisions are
 * explained, and the result is written. All of it is here; link libquadrant (pkg-config quadrant).
 *
 *   quadrant_model *model = NULL;
 *   quadrant_result *result = NULL;
 *   quadrant_error *error = NULL;
 *   if (quadrant_read("model.onnx", NULL, &model, &error) != QUADRANT_OK ||
 *       quadrant_run(model, recipe_json, NULL, &result, &error) != QUADRANT_OK ||
 *       quadrant_write(result, "small.onnx", &error) != QUADRANT_OK) {
 *     fprintf(stderr, "%s\n", quadrant_error_text(error));
 *   }
 *   quadrant_error_free(error);
 *   quadrant_result_free(result);
 *   quadrant_model_free(model);
 *
 * Names here are kept from one minor version to the next; structs grow at their ends, and say their
 * size.
 *
 * Functions that can fail return a code and, where `error` is not NULL, set *error: to NULL, or to
 * what the caller frees. What they make is set to NULL where they fail. No exception leaves them, and
 * an argument that must be there and is NULL is QUADRANT_USAGE. Text is UTF-8 and ends with 0.
 *
 * Threads: a function may be called from any thread, and several at once with different objects. One
 * object serves one call at a time, except that many may read one model, and use one table of schemes
 * to which nothing is added any more.
 *
 * Lifetimes: each object is freed by the function that its type names, which takes NULL, too; no
 * object needs the ones that it was made of: a result lives without its model. What a `const char *`
 * that is returned points to lives as long as the object that was asked. Contents of a model stay in
 * its file until they are needed: it must not change while the model, or a result of it, lives. */
#ifndef QUADRANT_QUADRANT_H
#define QUADRANT_QUADRANT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C has its own ways. NOLINTBEGIN(modernize-*,readability-identifier-naming,performance-enum-size) */

typedef struct quadrant_error quadrant_error;
typedef struct quadrant_schemes quadrant_schemes;
typedef struct quadrant_model quadrant_model;
typedef struct quadrant_result quadrant_result;

/* The numbers are the exit codes of the command `quadrant`. */
typedef enum quadrant_code {
  QUADRANT_OK = 0,
  QUADRANT_DEFECT = 1,      /* of the library: please report it */
  QUADRANT_USAGE = 2,       /* the call is wrong: an argument, a name that is not there */
  QUADRANT_BAD_INPUT = 3,   /* a file or text is damaged, or not what it says it is */
  QUADRANT_IMPOSSIBLE = 4,  /* the input is fine, what is asked of it cannot be done */
  QUADRANT_IO = 5,          /* the system refused to read, to write, or to give memory */
  QUADRANT_CANCELLED = 130
} quadrant_code;

/* "0.2.0". Lives as long as the program. */
const char *quadrant_version(void);

/* --- Errors. Where there is not even memory for one, *error stays NULL. A NULL error has code
 * QUADRANT_OK, and empty texts. --- */

quadrant_code quadrant_error_code(const quadrant_error *error);
/* Place and message on one line, for people. */
const char *quadrant_error_text(const quadrant_error *error);
const char *quadrant_error_message(const quadrant_error *error);
/* Where; empty: unknown. */
const char *quadrant_error_file(const quadrant_error *error);
const char *quadrant_error_node(const quadrant_error *error);
const char *quadrant_error_tensor(const quadrant_error *error);
/* Bytes from the beginning of the file; -1: unknown. */
int64_t quadrant_error_offset(const quadrant_error *error);
void quadrant_error_free(quadrant_error *error);

/* --- Text that a function made for the caller. --- */

void quadrant_text_free(char *text);

/* --- Schemes: the library's, and those of plug-ins. --- */

quadrant_code quadrant_schemes_new(quadrant_schemes **schemes, quadrant_error **error);
/* Adds those of a shared library (quadrant/pipeline/plugin.hpp), whose code runs in this process from
 * now on. This library must be a shared one, too. */
quadrant_code quadrant_schemes_load(quadrant_schemes *schemes, const char *path, quadrant_error **error);
void quadrant_schemes_free(quadrant_schemes *schemes);

/* --- Models and runs. --- */

typedef enum quadrant_severity { QUADRANT_NOTE = 0, QUADRANT_WARNING = 1 } quadrant_severity;

/* Options of calls. Set all to 0, then `size`. */
typedef struct quadrant_options {
  size_t size;      /* sizeof(quadrant_options) */
  unsigned threads; /* 0: as many as the machine has. Results are the same for any number */
  /* NULL: no reports. Called by the calling thread, before it returns; the text lives that long. */
  void (*report)(void *user, quadrant_severity severity, const char *text);
  void *user;
  /* The rest is for quadrant_run. Files may be NULL. */
  const quadrant_schemes *schemes; /* that the recipe may name; NULL: the library's */
  const char *calibration;         /* samples, or statistics (.json) */
  const char *encodings;           /* ranges or parameters that are given, as AIMET exports them */
  const char *destination;         /* the file that is to be written later: its ending says for which
                                      kernels codes are made; NULL: .onnx */
} quadrant_options;

/* Reads .onnx, .tflite, .xml (OpenVINO) or .qd (text), by the ending. */
quadrant_code quadrant_read(const char *path, const quadrant_options *options, quadrant_model **model,
                            quadrant_error **error);
void quadrant_model_free(quadrant_model *model);

/* The recipe of that name which comes with the library ("int8"), as JSON; free the text. */
quadrant_code quadrant_preset(const char *name, char **recipe, quadrant_error **error);

/* Runs a recipe, as JSON text (docs/recipes.md), on the model, which stays as it is. */
quadrant_code quadrant_run(const quadrant_model *model, const char *recipe,
                           const quadrant_options *options, quadrant_result **result,
                           quadrant_error **error);
void quadrant_result_free(quadrant_result *result);

/* How many values are quantized; 0 for NULL. */
size_t quadrant_result_count(const quadrant_result *result);
/* What was decided, as JSON (a plan); free the text. */
quadrant_code quadrant_plan(const quadrant_result *result, char **plan, quadrant_error **error);

typedef enum quadrant_format { QUADRANT_TEXT = 0, QUADRANT_JSON = 1 } quadrant_format;

/* Why the value of that name, or those that a node of that name makes, are quantized, or are not;
 * NULL: all values. Free the text. */
quadrant_code quadrant_explain(const quadrant_result *result, const char *name,
                               quadrant_format format, char **text, quadrant_error **error);

/* Writes the quantized model in the format of the ending: .onnx, .tflite, .xml, .mlir or .qd. Files
 * appear complete or not at all. What there is to say goes to the run's `report`, which must still be
 * callable. */
quadrant_code quadrant_write(const quadrant_result *result, const char *path, quadrant_error **error);

/* NOLINTEND(modernize-*,readability-identifier-naming,performance-enum-size) */

#ifdef __cplusplus
}
#endif

#endif /* QUADRANT_QUADRANT_H */
