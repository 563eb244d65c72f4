import type { InstanceResource } from '@gwk/core/resources/manifest';
import { badRequestError } from '../cluster/local/desired.js';

export type ResourceFilter = (resource: InstanceResource) => boolean;

/** Parses `labelSelector` and `fieldSelector` with equality only. @throws ApiStatus */
export function parseSelector(query: URLSearchParams, namespace: string | undefined): ResourceFilter {
  const labels = parseEqualities(query.get('labelSelector') ?? '');
  const fields = parseEqualities(query.get('fieldSelector') ?? '');
  for (const { key } of fields) {
    if (key !== 'metadata.name' && key !== 'metadata.namespace')
      throw badRequestError(`field ${key} is not supported in a selector`);
  }
  return ({ metadata }) => {
    const place: Record<string, string> = {
      'metadata.name': metadata.name,
      'metadata.namespace': metadata.namespace,
    };
    return (
      (namespace === undefined || metadata.namespace === namespace) &&
      labels.every(({ key, value, equal }) => (metadata.labels?.[key] === value) === equal) &&
      fields.every(({ key, value, equal }) => (place[key] === value) === equal)
    );
  };
}

interface Equality {
  key: string;
  value: string;
  equal: boolean;
}

function parseEqualities(text: string): Equality[] {
  if (text === '') return [];
  return text.split(',').map((part) => {
    const [, key, operator, value] = /^([^=!]+)(==?|!=)([^=!]*)$/.exec(part) ?? [];
    if (key === undefined) throw badRequestError(`"${part}" is not a selector of the form key=value`);
    return { key: key.trim(), value: value!.trim(), equal: operator !== '!=' };
  });
}
