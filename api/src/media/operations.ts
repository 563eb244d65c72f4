import { fromPublicId, parseUuidTime, toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { LINK_SECONDS, MediaOut, MediaUpload } from '@gwk/core/resources/media';
import { listRestriction, type Caller } from '../accounts/caller.js';
import { StorageFull } from '../accounts/usage.js';
import { operation } from '../http/operation.js';
import type { MediaRow } from './files.js';
import type { MediaLinks } from './links.js';
import { receiveUpload, type Upload } from './upload.js';

/** A restricted key sees files whose instances are all its own, and no files of the whole account. */
function maySeeMedia({ accountId, instances }: Caller, row: MediaRow): boolean {
  if (row.accountId !== accountId || row.messageId !== null) return false;
  if (instances === null) return true;
  return row.instanceIds.length > 0 && row.instanceIds.every((id) => instances.has(id));
}

function mediaOut(row: MediaRow, links: MediaLinks): MediaOut {
  return {
    id: toPublicId('media', row.id),
    mimetype: row.mimetype,
    size: row.size,
    sha256: row.sha256.toString('hex'),
    filename: row.filename,
    created_at: new Date(parseUuidTime(row.id)).toISOString(),
    expires_at: row.expiresAt.toISOString(),
    url: links.make(row.id, LINK_SECONDS),
  };
}

function refuseStorage(error: unknown): never {
  throw error instanceof StorageFull ? new Problem('storage-limit-reached') : error;
}

export const mediaOperations = [
  operation({
    name: 'uploadMedia',
    method: 'POST',
    path: '/v1/media',
    summary: 'Upload a file',
    description:
      'Accepts at most 100 MB (104,857,600 bytes), unless the gateway is configured otherwise (64 MB to 2,000 MB). ' +
      'The content decides the type. ' +
      'Only documents may be larger than 64 MB (67,108,864 bytes). ' +
      'Messages can send the file by its `media_id` for 30 days.',
    scope: 'media:write',
    status: 201,
    // not-found: the stored answer of the idempotency key is about a file that the API key may not see.
    problems: [
      'file-too-large',
      'empty-file',
      'storage-limit-reached',
      'not-found',
      'too-many-transfers',
      'server-busy',
    ],
    body: MediaUpload,
    receive: {
      async read(req, { media, transfers }) {
        // A repeat is answered like its first request, which the content of the file identifies.
        if (req.headers['idempotency-key'] === undefined) {
          await media.files.checkSpace(req.caller!.accountId, 'upload').catch(refuseStorage);
        }
        return receiveUpload(req, media.files, {
          transfers: transfers.upload,
          account: req.caller!.accountId,
        });
      },
      /** Two uploads with the same name and content are the same request. */
      identity: ({ file, filename }: Upload) => ({ filename, sha256: file.sha256.toString('hex') }),
      release: ({ file }: Upload, { media }) => media.files.discard(file),
    },
    result: MediaOut,
    idempotent: true,
    async mayReplay(caller, body, { services: { media } }) {
      const id = fromPublicId('media', (body as MediaOut).id);
      const row = id === null ? null : await media.files.find(id);
      return row !== null && maySeeMedia(caller, row);
    },
    async handle({ caller, received, resourceId, resumed, note, services: { media } }) {
      const { file, filename } = received as Upload;
      note(toPublicId('media', resourceId));
      const made = resumed ? await media.files.find(resourceId) : null;
      if (made) return { status: 201, body: mediaOut(made, media.links) };
      const { accountId } = caller;
      const instanceIds = listRestriction(caller) ?? [];
      const row = await media.files
        .keep(file, { id: resourceId, accountId, instanceIds, origin: 'upload', filename })
        .catch(refuseStorage);
      return { status: 201, body: mediaOut(row, media.links) };
    },
  }),

  operation({
    name: 'getMedia',
    method: 'GET',
    path: '/v1/media/{media_id}',
    summary: 'Get a file with a new download link',
    scope: 'messages:read',
    orScope: 'media:write',
    status: 200,
    problems: ['media-expired'],
    result: MediaOut,
    async handle({ caller, params, services: { media } }) {
      const row = await media.files.find(params['media_id']!);
      if (!row || !maySeeMedia(caller, row)) throw new Problem('not-found');
      if (row.removedAt !== null || row.expiresAt.getTime() <= Date.now()) throw new Problem('media-expired');
      return { status: 200, body: mediaOut(row, media.links) };
    },
  }),
];
