import type { OpenApiDocument } from '@gwk/api/openapi/document';
import {
  absent,
  describedOperations,
  listParameters,
  pathWith,
  withIds,
  type DescribedOperation,
  type Ids,
} from '../support/hostile/described-operations.js';
import type { HostileRequest } from '../support/hostile/hostile-requests.js';
import { placesOf, put } from '../support/hostile/json-places.js';
import { HOSTILE_TEXTS, HOSTILE_VALUES, RAW_BODIES } from '../support/hostile/hostile-values.js';

/**
 * One fault per request, exhaustively: each parameter of each operation with each hostile text, and each field of
 * each example body with each hostile value. Random requests find such faults only by chance.
 */
export function exhaustiveHostileRequests(document: OpenApiDocument, ids: Ids): HostileRequest[] {
  return describedOperations(document).flatMap((operation) => {
    const given = operation.spared ? absentOf(operation, ids) : ids;
    return [
      ...inPath(operation, given),
      ...inQuery(operation, given),
      ...inBody(operation, given, ids),
      ...rawBodies(operation, given),
    ];
  });
}

function absentOf(operation: DescribedOperation, ids: Ids): Ids {
  return Object.fromEntries(listParameters(operation).map((name) => [name, absent(name, ids)]));
}

const encoded = HOSTILE_TEXTS.map((text) => encodeURIComponent(text.toWellFormed()));

function inPath(operation: DescribedOperation, given: Ids): HostileRequest[] {
  const [body] = operation.bodies ?? [];
  return listParameters(operation).flatMap((name) =>
    encoded
      .filter((text) => text !== '')
      .map((text) => request(operation, pathWith(operation, { ...given, [name]: text }), jsonOf(body))),
  );
}

function inQuery(operation: DescribedOperation, given: Ids): HostileRequest[] {
  const path = pathWith(operation, given);
  return operation.query.flatMap((name) =>
    encoded.map((text) => request(operation, `${path}?${name}=${text}`, undefined)),
  );
}

function inBody(operation: DescribedOperation, given: Ids, ids: Ids): HostileRequest[] {
  const path = pathWith(operation, given);
  const bodies = (operation.bodies ?? []).map((body) => withIds(body, ids));
  const texts = bodies.flatMap((body) =>
    placesOf(body).flatMap((place) => HOSTILE_VALUES.map((value) => jsonOf(put(body, place, value)))),
  );
  // Example bodies have many fields in common.
  return [...new Set(texts)].map((text) => request(operation, path, text));
}

function rawBodies(operation: DescribedOperation, given: Ids): HostileRequest[] {
  if (operation.bodies === null && !operation.takesForm) return [];
  return RAW_BODIES.map((body) => request(operation, pathWith(operation, given), body));
}

function request(
  { name, method, takesForm }: DescribedOperation,
  path: string,
  body: string | Buffer | undefined,
): HostileRequest {
  const type = takesForm ? 'multipart/form-data; boundary=x' : 'application/json';
  return { operation: name, method, path, headers: body === undefined ? {} : { 'content-type': type }, body };
}

const jsonOf = (body: unknown): string | undefined => JSON.stringify(body);
