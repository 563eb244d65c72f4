import { secretSetting, setting, types } from './load.js';

/** Where files are kept: the same for all API and worker processes of a gateway. */
export const mediaStoreSettings = {
  mediaFolder: setting(
    'GWK_MEDIA_FOLDER',
    types.text().default('/var/lib/gwk/media'),
    'Folder that media is kept in, shared by all API and worker processes. Not used with a bucket.',
  ),
  mediaS3Bucket: setting(
    'GWK_MEDIA_S3_BUCKET',
    types.text(1, 255).optional(),
    'Bucket (S3 or compatible) that media is kept in, in place of a folder.',
  ),
  mediaS3Url: setting(
    'GWK_MEDIA_S3_URL',
    types.url('http', 'https').optional(),
    "Address of the S3-compatible service; Amazon's when not set.",
  ),
  mediaS3Region: setting(
    'GWK_MEDIA_S3_REGION',
    types.text(1, 100).default('us-east-1'),
    'Region of the bucket.',
  ),
  mediaS3AccessKey: secretSetting(
    'GWK_MEDIA_S3_ACCESS_KEY',
    types.text().optional(),
    "Access key of the bucket; without it the SDK's own sources (a service account, for example) are used.",
  ),
  mediaS3SecretKey: secretSetting(
    'GWK_MEDIA_S3_SECRET_KEY',
    types.text().optional(),
    'Secret of the access key.',
  ),
  mediaS3PathStyle: setting(
    'GWK_MEDIA_S3_PATH_STYLE',
    types.flag().default(false),
    'Name the bucket in the path (https://host/bucket/key), as most services other than Amazon need.',
  ),
  mediaS3Prefix: setting(
    'GWK_MEDIA_S3_PREFIX',
    types.matching(/^[a-zA-Z0-9/_.-]*$/, 'letters, digits and / _ . -').default(''),
    'What the names of all objects begin with.',
  ),
};
