import { ApiError, ConnectionError } from '@gwk/client';
import { Alert, Anchor, Code, List, Stack, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { formatDuration } from './duration';

/** Shows an error: its title, the advice, the invalid fields and the request id. Nothing without an error. */
export function ProblemAlert({ error }: { error: Error | null | undefined }) {
  const { t, i18n } = useTranslation();
  const { account } = useParams();
  if (!error) return null;
  if (error instanceof ConnectionError) {
    return (
      <Alert color="red" icon={<IconAlertCircle />} title={t('problems.unreachable')} role="alert">
        <Text size="sm">{t('problems.advice.network')}</Text>
      </Alert>
    );
  }
  if (!(error instanceof ApiError)) {
    return <Alert color="red" icon={<IconAlertCircle />} title={t('problems.unexpected')} role="alert" />;
  }
  return (
    <Alert color="red" icon={<IconAlertCircle />} title={error.message} role="alert" variant="light">
      <Stack gap={6}>
        <Text size="sm">
          {t(adviceOf(error), { duration: formatDuration(error.retryAfter ?? 0, i18n.language) })}
        </Text>
        {error.code === 'mfa-not-verified' && account !== undefined && (
          <Anchor size="sm" component={Link} to={`/${account}/profile`}>
            {t('shell.profile')}
          </Anchor>
        )}
        {error.requiredScope !== null && <Code>{error.requiredScope}</Code>}
        {error.errors.length > 0 && (
          <List size="sm">
            {error.errors.map(({ path, message }) => (
              <List.Item key={path}>
                <Code>{path}</Code> {message}
              </List.Item>
            ))}
          </List>
        )}
        {error.requestId !== null && (
          <Text size="xs" c="dimmed">
            {t('problems.requestId')} <Code>{error.requestId}</Code>{' '}
            <Anchor
              size="xs"
              underline="always"
              href={`/problems/${error.code}`}
              target="_blank"
              rel="noreferrer"
            >
              {t('problems.more')}
            </Anchor>
          </Text>
        )}
      </Stack>
    </Alert>
  );
}

const ADVICE = {
  unauthorized: 'problems.advice.unauthorized',
  forbidden: 'problems.advice.forbidden',
  'insufficient-scope': 'problems.advice.forbidden',
  'account-suspended': 'problems.advice.suspended',
  'rate-limited': 'problems.advice.wait',
  'login-locked': 'problems.advice.wait',
  'engine-unavailable': 'problems.advice.wait',
  'policy-new-contacts-limit': 'problems.advice.wait',
  'invalid-credentials': 'problems.advice.credentials',
  'passwords-off': 'problems.advice.passwordsOff',
  'provider-unavailable': 'problems.advice.wait',
  'no-account': 'problems.advice.noAccount',
  'recent-sign-in-required': 'problems.advice.recentSignIn',
  'too-many-passkeys': 'problems.advice.tooManyPasskeys',
  'invalid-code': 'problems.advice.code',
  'mfa-not-verified': 'problems.advice.secondFactor',
  'mfa-needs-link': 'problems.advice.factorLink',
  'user-exists': 'problems.advice.userExists',
  'mfa-not-pending': 'problems.advice.signInAgain',
  'handoff-invalid': 'problems.advice.handoff',
  'invitation-invalid': 'problems.advice.invitation',
  'weak-password': 'problems.advice.password',
  'csrf-failed': 'problems.advice.reload',
  'origin-not-allowed': 'problems.advice.origin',
  'not-found': 'problems.advice.notFound',
  'internal-error': 'problems.advice.retry',
  'precondition-failed': 'problems.advice.reload',
  'last-owner': 'problems.advice.lastOwner',
} as const;

const adviceOf = ({ code, status }: ApiError) =>
  ADVICE[code as keyof typeof ADVICE] ??
  (status >= 500 ? ('problems.advice.retry' as const) : ('problems.advice.correct' as const));
