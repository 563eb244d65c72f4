import { Alert, Box, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { QRCodeSVG } from 'qrcode.react';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { getClient, takeData } from '../api/client';
import { useSession } from '../session/session';
import { ConfirmButton } from '../ui/confirm-button';
import { CopyText } from '../ui/copy-text';
import { ProblemAlert } from '../ui/problem-alert';

const api = getClient(null);

/** Sets up the codes of an app as the second factor, and removes it. */
export function SecondFactor() {
  const { t } = useTranslation();
  const { user } = useSession();
  const queries = useQueryClient();
  const [backupCodes, setBackupCodes] = useState<string[] | null>(null);
  const renew = () => queries.invalidateQueries({ queryKey: ['session'] });
  const remove = async (code: string) => {
    await api.POST('/console/api/profile/totp/remove', { body: { code } });
    setBackupCodes(null);
    await renew();
  };
  if (backupCodes) return <Codes codes={backupCodes} />;
  if (!user.has_totp) {
    return (
      <Setup
        done={(codes) => {
          setBackupCodes(codes);
          void renew();
        }}
      />
    );
  }
  return (
    <Stack align="flex-start">
      <Text>{t('secondFactor.active')}</Text>
      <ConfirmButton
        label={t('secondFactor.remove')}
        title={t('secondFactor.removeTitle')}
        text={t('secondFactor.removeText')}
        needs="code"
        action={remove}
      />
    </Stack>
  );
}

function Setup({ done }: { done: (backupCodes: string[]) => void }) {
  const { t } = useTranslation();
  const [code, setCode] = useState('');
  const start = useMutation({
    mutationFn: (password: string | null) =>
      takeData(api.POST('/console/api/profile/totp', { body: { password } })),
  });
  const confirm = useMutation({
    mutationFn: () => takeData(api.POST('/console/api/profile/totp/confirm', { body: { code } })),
    onSuccess: ({ backup_codes }) => done(backup_codes),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    confirm.mutate();
  };
  if (!start.data) return <Start start={start.mutate} isPending={start.isPending} error={start.error} />;
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>{t('secondFactor.scan')}</Text>
        <Box bg="white" p="md" bdrs="md" w="fit-content">
          <QRCodeSVG value={start.data.uri} size={200} title={t('secondFactor.qr')} />
        </Box>
        <Text size="sm">{t('secondFactor.secret')}</Text>
        <CopyText text={start.data.secret} />
        <TextInput
          label={t('signIn.code')}
          description={t('secondFactor.codeHelp')}
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          maxLength={10}
          maw={240}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        <ProblemAlert error={confirm.error} />
        <Group>
          <Button type="submit" loading={confirm.isPending}>
            {t('signIn.confirm')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface StartProps {
  start: (password: string | null) => void;
  isPending: boolean;
  error: Error | null;
}

/** A person without a password needs a recent sign-in instead. */
function Start({ start, isPending, error }: StartProps) {
  const { t } = useTranslation();
  const { user } = useSession();
  const [password, setPassword] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start(user.has_password ? password : null);
  };
  return (
    <form onSubmit={submit}>
      <Stack align="flex-start">
        {user.has_password && (
          <PasswordInput
            label={t('secondFactor.password')}
            autoComplete="current-password"
            required
            w={240}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        )}
        <ProblemAlert error={error} />
        <Button type="submit" loading={isPending}>
          {t('secondFactor.start')}
        </Button>
      </Stack>
    </form>
  );
}

function Codes({ codes }: { codes: string[] }) {
  const { t } = useTranslation();
  return (
    <Alert color="teal" title={t('secondFactor.done')} role="status">
      <Stack>
        <Text size="sm">
          {t('common.shownOnce')} {t('secondFactor.backupHelp')}
        </Text>
        <CopyText text={codes.join('\n')} block />
      </Stack>
    </Alert>
  );
}
