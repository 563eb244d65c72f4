import { secretSetting, setting, types } from '@gwk/core/config/load';
import { mediaMaxMb } from '@gwk/core/config/shared';

/** Settings of the media store. All API and worker processes of a gateway must use the same values. */
export const mediaStoreSettings = {
  mediaMaxMb,
  mediaFolder: setting(
    'GWK_MEDIA_FOLDER',
    types.text().default('/var/lib/gwk/media'),
    'Folder for media files, shared by all API and worker processes. Ignored when a bucket is set.',
  ),
  mediaS3Bucket: setting(
    'GWK_MEDIA_S3_BUCKET',
    types.text(1, 255).optional(),
    'S3-compatible bucket for media files, instead of a folder.',
  ),
  mediaS3Url: setting(
    'GWK_MEDIA_S3_URL',
    types.url('http', 'https').optional(),
    'Address of the S3-compatible service. Default: Amazon S3.',
  ),
  mediaS3Region: setting(
    'GWK_MEDIA_S3_REGION',
    types.text(1, 100).default('us-east-1'),
    'Region of the bucket.',
  ),
  mediaS3AccessKey: secretSetting(
    'GWK_MEDIA_S3_ACCESS_KEY',
    types.text().optional(),
    "Access key of the bucket. Default: the SDK's own credential chain, for example a service account.",
  ),
  mediaS3SecretKey: secretSetting(
    'GWK_MEDIA_S3_SECRET_KEY',
    types.text().optional(),
    'Secret of the access key.',
  ),
  mediaS3PathStyle: setting(
    'GWK_MEDIA_S3_PATH_STYLE',
    types.flag().default(false),
    'Put the bucket into the path (https://host/bucket/key). Most services other than Amazon S3 need this.',
  ),
  mediaS3Prefix: setting(
    'GWK_MEDIA_S3_PREFIX',
    types.matching(/^[a-zA-Z0-9/_.-]*$/, 'letters, digits and / _ . -').default(''),
    'Prefix of all object names.',
  ),
};
