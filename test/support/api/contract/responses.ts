import type { OpenApiDocument } from '@gwk/api/openapi/document';

/** Returns the responses of an operation by status, and in place of a reference the shared response. */
export function readResponses<T>(
  document: OpenApiDocument,
  { responses }: { responses: Record<string, T> },
): Record<string, T> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const { $ref } = response as { $ref?: string };
      const name = $ref?.split('/').at(-1);
      return [status, name === undefined ? response : (document.components['responses']![name] as T)];
    }),
  );
}
