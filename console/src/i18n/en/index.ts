import { account } from './account';
import * as alertPages from './alerts';
import { health } from './health';
import * as numberPage from './number-page';
import { numbers } from './numbers';
import { overview } from './overview';
import * as pages from './pages';
import { platform } from './platform';
import { passkeys } from './passkeys';
import { passwordReset } from './password-reset';
import { provider } from './provider';
import * as shell from './shell';
import * as teamPages from './team';
import * as webhookPages from './webhooks';

export default {
  account,
  ...alertPages,
  health,
  ...shell,
  ...numberPage,
  ...pages,
  ...teamPages,
  ...webhookPages,
  numbers,
  overview,
  platform,
  passkeys,
  passwordReset,
  provider,
};
