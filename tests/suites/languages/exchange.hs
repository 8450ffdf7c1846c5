{-# LANGUAGE OverloadedStrings #-}

-- Exchanges messages with peer.py by zeromq4-haskell: exchange connect|bind PREFIX
module Main (main) where

import Control.Exception
import Control.Monad
import qualified Data.ByteString as B
import qualified Data.ByteString.Char8 as C
import Data.List.NonEmpty (NonEmpty (..))
import Data.Maybe (fromJust)
import Data.Restricted
import System.Environment
import System.IO
import System.ZMQ4
import Text.Printf

-- What every test has: the context, and how an endpoint is opened.
data Setting = Setting Context Bool String

withNumber :: SocketType a => Setting -> Int -> a -> (Socket a -> IO ()) -> (Socket a -> IO b) -> IO b
withNumber (Setting context isBinding prefix) number kind setOptions body =
    withSocket context kind $ \socket -> do
        setLinger (restrict (0 :: Int)) socket
        setReceiveTimeout (restrict (10000 :: Int)) socket
        setSendTimeout (restrict (10000 :: Int)) socket
        setOptions socket
        (if isBinding then bind else connect) socket (prefix ++ printf "%02d" number)
        body socket

none :: Socket a -> IO ()
none _ = return ()

equal :: (Eq a, Show a) => a -> a -> IO ()
equal came right = unless (came == right) $ fail $ take 60 (show came) ++ ", not " ++ take 60 (show right)

test :: String -> IO () -> IO ()
test name body = do
    result <- try body
    case result of
        Right () -> putStrLn ("PASS " ++ name)
        Left failure -> putStrLn ("FAIL " ++ name ++ "  " ++ unwords (words (show (failure :: SomeException))))

text :: String -> Int -> B.ByteString
text word number = C.pack (word ++ " " ++ show number)

ask :: Setting -> Int -> (Socket Req -> IO ()) -> IO ()
ask setting number options = withNumber setting number Req options $ \req -> forM_ [0 .. 9] $ \i -> do
    sendMulti req (text "question" i :| [""])
    came <- receiveMulti req
    equal came [text "question" i, ""]

answer :: Setting -> Int -> (Socket Rep -> IO ()) -> IO ()
answer setting number options = withNumber setting number Rep options $ \rep -> forM_ [0 .. 9] $ \i -> do
    came <- receiveMulti rep
    equal came [text "question" i, if i == 0 then "" else text "answer" (i - 1)]
    send rep [] (text "answer" i)

errnoOf :: IO a -> IO Int
errnoOf call = do
    result <- try call
    case result of
        Right _ -> return 0
        Left failure -> return (errno failure)

main :: IO ()
main = do
    hSetBuffering stdout LineBuffering
    [role, prefix] <- getArgs
    keys <- mapM (fmap C.pack . getEnv) ["SERVER_PUBLIC", "SERVER_SECRET", "CLIENT_PUBLIC", "CLIENT_SECRET"]
    let [serverPublic, serverSecret, clientPublic, clientSecret] = map (fromJust . toRestricted) keys
    withContext $ \context -> do
        let setting = Setting context (role == "bind") prefix
        test "push_pull" $ withNumber setting 1 Push none $ \push -> withNumber setting 2 Pull none $ \pull -> do
            forM_ [0 .. 99] $ send push [] . text "message"
            came <- replicateM 100 (receiveMulti pull)
            equal came [[text "message" i] | i <- [0 .. 99]]
        test "subscriber" $ withNumber setting 3 Sub (`subscribe` "red") $ \sub -> do
            came <- replicateM 20 (receive sub)
            equal (filter (not . ("red " `B.isPrefixOf`)) came) []
        test "publisher" $ withNumber setting 4 Pub none $ \pub ->
            withNumber setting 5 Pull none $ \pull -> do
                let publish :: Int -> [B.ByteString] -> IO [B.ByteString]
                    publish i heard
                        | i == 1000 || length heard == 20 = return heard
                        | otherwise = do
                            send pub [] (text "blue" i)
                            send pub [] (text "red" i)
                            [ready] <- poll 10 [Sock pull [In] Nothing] -- receive has no limit of time.
                            came <- if In `elem` ready then (: heard) <$> receive pull else return heard
                            publish (i + 1) came
                heard <- publish 0 []
                equal (length heard) 20
                equal (filter (not . ("red " `B.isPrefixOf`)) heard) []
        test "requester" $ ask setting 6 none
        test "replier" $ answer setting 7 none
        test "dealer" $ withNumber setting 8 Dealer none $ \dealer -> do
            let binary = B.concat (replicate 1000 (B.pack [0 .. 255]))
            sendMulti dealer ("first" :| ["", binary])
            came <- receiveMulti dealer
            equal came ["first", "", binary]
        test "router" $ withNumber setting 9 Router none $ \router -> forM_ [0 .. 9] $ \i -> do
            (identity' : frames) <- receiveMulti router
            equal frames [text "part" i, "", if i == 0 then "" else text "answer" (i - 1)]
            sendMulti router (identity' :| ["", text "answer" i])
        test "poll" $ withNumber setting 8 Dealer none $ \dealer -> do
            quiet <- poll 50 [Sock dealer [In] Nothing]
            equal quiet [[]]
            send dealer [] "x"
            ready <- poll 10000 [Sock dealer [In] Nothing]
            equal ready [[In]]
            receive dealer >>= (`equal` "x")
        test "options" $ withSocket context Dealer $ \socket -> do
            setLinger (restrict (17 :: Int)) socket >> linger socket >>= (`equal` 17)
            setSendHighWM (restrict (5 :: Int)) socket >> sendHighWM socket >>= (`equal` 5)
            setReceiveHighWM (restrict (6 :: Int)) socket >> receiveHighWM socket >>= (`equal` 6)
            setIdentity (restrict "me") socket >> identity socket >>= (`equal` "me")
            setAffinity 1 socket >> affinity socket >>= (`equal` 1)
        test "errors" $ do
            withSocket context Req $ \socket -> do
                errnoOf (connect socket "nonsense") >>= (`equal` 22)
                errnoOf (bind socket "bad://x") >>= (`equal` 93)
                errnoOf (receive socket) >>= (`equal` 156384763) -- EFSM
        test "curve_client" $ ask setting 10 $ \socket -> do
            setCurveServerKey TextFormat serverPublic socket
            setCurvePublicKey TextFormat clientPublic socket
            setCurveSecretKey TextFormat clientSecret socket
        test "curve_server" $ answer setting 11 $ \socket -> do
            setCurveServer True socket
            setCurveSecretKey TextFormat serverSecret socket
    putStrLn "PASS terminates"
