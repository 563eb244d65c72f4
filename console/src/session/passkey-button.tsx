import { Alert, Button, Stack } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { GwkError } from '@gwk/client';
import { ProblemAlert } from '../ui/problem-alert';
import { canUsePasskeys } from './passkeys';
import type { Session } from './session-api';

interface PasskeyButtonProps {
  label: string;
  use: () => Promise<Session>;
  done: (session: Session) => void;
}

/** A button that asks the browser for a passkey. Nothing where the browser has none. */
export function PasskeyButton({ label, use, done }: PasskeyButtonProps) {
  const attempt = useMutation({ mutationFn: use, onSuccess: done });
  if (!canUsePasskeys()) return null;
  return (
    <Stack>
      <PasskeyError error={attempt.error} />
      <Button
        variant="default"
        leftSection={<IconKey size={18} aria-hidden />}
        loading={attempt.isPending}
        onClick={() => attempt.mutate()}
        fullWidth
      >
        {label}
      </Button>
    </Stack>
  );
}

/** Shows the error of a passkey: a problem of the API, or that the browser used none. */
export function PasskeyError({ error }: { error: Error | null }) {
  const { t } = useTranslation();
  if (!error || error instanceof GwkError) return <ProblemAlert error={error} />;
  return (
    <Alert color="orange" role="alert" title={t('passkeys.notUsed')}>
      {t(error.name === 'InvalidStateError' ? 'passkeys.known' : 'passkeys.notUsedHelp')}
    </Alert>
  );
}
