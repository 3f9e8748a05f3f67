/* Quadrant from C: quantizes the weights of a model to 8 bits, and says why of one of them.
 *
 *   cc c_api.c $(pkg-config --cflags --libs quadrant) -o c_api
 *   ./c_api model.onnx small.onnx
 */
#include <quadrant/quadrant.h>
#include <stdio.h>

static void report(void *user, quadrant_severity severity, const char *text) {
  (void)user;
  fprintf(stderr, "%s: %s\n", severity == QUADRANT_WARNING ? "warning" : "note", text);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODEL OUT [NAME]\n", argv[0]);
    return QUADRANT_USAGE;
  }
  quadrant_options options = {.size = sizeof(options), .report = report, .destination = argv[2]};
  quadrant_model *model = NULL;
  quadrant_result *result = NULL;
  char *recipe = NULL;
  char *why = NULL;
  quadrant_error *error = NULL;

  quadrant_code code = quadrant_preset("int8", &recipe, &error);
  if (code == QUADRANT_OK) code = quadrant_read(argv[1], &options, &model, &error);
  if (code == QUADRANT_OK) code = quadrant_run(model, recipe, &options, &result, &error);
  if (code == QUADRANT_OK && argc > 3) {
    code = quadrant_explain(result, argv[3], QUADRANT_TEXT, &why, &error);
  }
  if (code == QUADRANT_OK) code = quadrant_write(result, argv[2], &error);

  if (code == QUADRANT_OK) {
    printf("%s%zu values are quantized\n", why != NULL ? why : "", quadrant_result_count(result));
  } else {
    fprintf(stderr, "%s\n", quadrant_error_text(error));
  }
  quadrant_error_free(error);
  quadrant_text_free(why);
  quadrant_text_free(recipe);
  quadrant_result_free(result);
  quadrant_model_free(model);
  return code;
}
